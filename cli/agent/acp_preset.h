#ifndef CLI_AGENT_ACP_PRESET_H
#define CLI_AGENT_ACP_PRESET_H

#include "lib/base/err.h"
#include "lib/json/json.h"

/* Settings of well-known agents: acp_presets.def. */
#define ACP_PRESETS "codex|claude|gemini|opencode|copilot|qwen|goose|kilo"

/* Adds what the preset says to an agent's definition, where it says nothing
 * itself: driver, preset, command, pass, env and idle_ms of its config, and the
 * paths that it writes to, for the sandbox. */
void acp_preset_apply(cJSON *def, const char *name);

/* Makes the places in the home directory that the preset lets it write to: in the
 * sandbox it could not make them itself. */
int acp_preset_make(const char *name, struct err *e);

/* The least version of node that its command needs; 0: none, or `config` has
 * another command. */
int acp_preset_node(const char *name, const cJSON *config);

/* What such an agent needs, in a sentence; NULL for a name that is none. */
const char *acp_preset_needs(const char *name);

#endif
