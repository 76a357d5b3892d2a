#ifndef CLI_AGENT_ACP_PRESET_H
#define CLI_AGENT_ACP_PRESET_H

#include "lib/base/err.h"
#include "lib/json/json.h"

/* Settings of well-known agents: acp_presets.def. */
#define ACP_PRESETS "codex|claude|gemini|opencode|copilot|qwen|goose|kilo"

/* Adds the settings of the preset to a definition that does not set them:
 * driver, preset, command, pass, env and idle_ms of its config, and the paths
 * that the sandbox lets it write to. */
void acp_preset_apply(cJSON *def, const char *name);

/* Creates the paths in the home directory that the preset may write to: inside
 * the sandbox the agent could not create them. */
int acp_preset_make(const char *name, struct err *e);

/* The minimum version of node that the command needs; 0: none, or `config` sets
 * another command. */
int acp_preset_node(const char *name, const cJSON *config);

/* The name of the i-th preset, NULL after the last one; and whether the program
 * that starts it is in PATH. */
const char *acp_preset_name(int i);
bool acp_preset_is_here(int i);

/* A sentence about what the agent needs; NULL if there is no such preset. */
const char *acp_preset_needs(const char *name);

#endif
