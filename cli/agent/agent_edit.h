#ifndef CLI_AGENT_AGENT_EDIT_H
#define CLI_AGENT_AGENT_EDIT_H

#include "cli/agent/acp_preset.h"
#include "cli/cli.h"
#include "schema/control/agent.h"

/* What `agent add` and `agent set` share. */
#define AGENT_EDIT_OPTIONS                                                     \
	{"driver", AGENT_DRIVERS, "what executes its runs", OPTION_WORD},      \
		{"workspace", AGENT_WORKSPACES, "where its files are",         \
		 OPTION_WORD},                                                 \
		{"preset", ACP_PRESETS,                                        \
		 "settings of a well-known agent, for the driver acp",         \
		 OPTION_WORD},                                                 \
		{"model", "NAME", "model that it uses", OPTION_TEXT},          \
		{"prompt", "TEXT", "its system prompt", OPTION_TEXT},          \
		{"prompt-file", "FILE", "the system prompt, from a file",      \
		 OPTION_FILE},                                                 \
		{"system", "FILE", "the same as --prompt-file", OPTION_FILE},  \
		{"endpoint", "URL",                                            \
		 "server of an OpenAI-compatible API, for the driver chat",    \
		 OPTION_TEXT},                                                 \
		{"key-file", "FILE",                                           \
		 "file with its key, in credentials/ or a path from the root", \
		 OPTION_TEXT},                                                 \
		{"from", "FILE", "a definition as JSON; '-' is stdin",         \
		 OPTION_FILE},                                                 \
	{                                                                      \
		"set", "KEY=VALUE",                                            \
			"a member of the definition, also KEY.KEY; VALUE is "  \
			"JSON or plain text",                                  \
			OPTION_MANY                                            \
	}

/* "KEY=VALUE" into an object: JSON where VALUE is some, else the text itself. */
int cli_set_member(cJSON *def, const char *pair, struct err *e);

/* --set, --unset, --enable and --disable. A KEY with dots is a member inside of
 * others, which stay as they are in *row; "\\." is a dot in a name. */
int agent_set_members(struct cli *cli, const struct agent_row *row, cJSON *def,
		      struct err *e);

/* Puts what the options say over *row. */
int agent_edit(struct cli *cli, struct agent_row *row, struct err *e);

/* Stores the definition, here or by the supervisor. */
int agent_store(struct cli *cli, struct agent_row *row, struct err *e);

/* "/v1/agents/NAME" and what follows. */
const char *agent_url(struct cli *cli, const char *name, const char *rest);

/* Prints the agent as it is stored. */
int agent_print(struct cli *cli, const char *name, struct err *e);

#endif
