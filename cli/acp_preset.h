#ifndef CLI_ACP_PRESET_H
#define CLI_ACP_PRESET_H

#include "base/json.h"

/* Settings of well-known agents: acp_presets.def. */
#define ACP_PRESETS "codex|claude|gemini|opencode|copilot|qwen|goose"

/* Adds what the preset says to an agent's definition, where it says nothing
 * itself: driver, preset, command and pass of its config, and
 * the paths that it writes to, for the sandbox. */
void acp_preset_apply(cJSON *def, const char *name);

/* What such an agent needs, in a sentence; NULL for a name that is none. */
const char *acp_preset_needs(const char *name);

#endif
