#ifndef CLI_AGENT_AGENT_EDIT_H
#define CLI_AGENT_AGENT_EDIT_H

#include "cli/agent/acp_preset.h"
#include "cli/cli.h"
#include "schema/control/agent.h"

/* The options of `agent add` and `agent set`. */
#define AGENT_EDIT_OPTIONS                                                     \
	OPTION(WORD, 'd', "driver", AGENT_DRIVERS,                             \
	       "driver that executes the runs of the agent"),                  \
		OPTION(WORD, 0, "workspace", AGENT_WORKSPACES,                 \
		       "where the files of the runs are stored"),              \
		OPTION(WORD, 0, "preset", ACP_PRESETS,                         \
		       "settings of a well-known agent, for the acp driver"),  \
		OPTION(FILE, 0, "path", "DIR",                                 \
		       "host directory in which the runs work, such as '.'"),  \
		OPTION(TEXT, 'm', "model", "MODEL", "model to use"),           \
		OPTION(TEXT, 'p', "prompt", "TEXT", "system prompt"),          \
		OPTION(FILE, 0, "prompt-file", "FILE",                         \
		       "read the system prompt from a file"),                  \
		OPTION(TEXT, 0, "endpoint", "URL",                             \
		       "OpenAI-compatible server, for the chat driver"),       \
		OPTION(TEXT, 0, "key-file", "FILE",                            \
		       "file with the API key: a name in the credentials "     \
		       "directory of the home, or an absolute path"),          \
		OPTION(FILE, 0, "from", "FILE",                                \
		       "read the definition, a JSON object, from a file; "     \
		       "'-' reads standard input"),                            \
		OPTION(MANY, 0, "set", "KEY=VALUE",                            \
		       "set a member of the definition; KEY may be a path "    \
		       "such as config.stdin; VALUE is JSON or plain text; "   \
		       "may be repeated"),                                     \
		FLAG(0, "force",                                               \
		     "store the definition even if a setting, the program or " \
		     "the path is still missing")

/* Adds "KEY=VALUE" to an object. VALUE is JSON if it parses, else a string. */
int cli_set_member(cJSON *def, const char *pair, struct err *e);

/* --set, --unset, --enable and --disable. A KEY with dots is a member inside
 * other members, whose remaining members in *row are kept; "\\." is a dot in a
 * name. */
int agent_set_members(struct cli *cli, const struct agent_row *row, cJSON *def,
		      struct err *e);

/* Applies the options to *row. Paths and commands that are relative to the
 * current directory become absolute (cli/agent/agent_place.c). */
int agent_edit(struct cli *cli, struct agent_row *row, struct err *e);

/* --path: the directory, absolute and existing unless --force is given; NULL
 * with the error. */
const char *agent_path_option(struct cli *cli, struct err *e);

/* A word of a command as it is stored: absolute if it names a file in the
 * current directory and the agent does not work there. The first word does so
 * only with a '/'. */
const char *agent_command_word(struct cli *cli, const struct agent_row *row,
			       const char *word, bool is_first);

/* Unless --force is given: ERR_INVALID if the driver lacks something that it
 * needs, ERR_NOTFOUND if the program or the path of the definition does not
 * exist. */
int agent_check_place(struct cli *cli, const struct agent_row *row,
		      struct err *e);

/* ERR_CONFLICT if files in the home define the agent differently. */
int agent_refuse_files(struct cli *cli, const struct agent_row *row,
		       struct err *e);

/* One version of a definition, as JSON; version 0 is the current one. */
int agent_get_version(struct cli *cli, const char *name, int64_t version,
		      struct agent_version_row *out, struct err *e);

/* Stores the definition, through the supervisor if one runs. */
int agent_store(struct cli *cli, struct agent_row *row, struct err *e);

/* Tests the agent as 'skep agent test' does, and prints a line for each step.
 * ERR_FAILED says what is missing. */
struct agent_trial {
	int64_t timeout_ms; /* 0: the default */
	bool prompt;        /* send a prompt to the model of an acp agent */
};

int agent_try(struct cli *cli, const struct agent_row *row,
	      const struct agent_trial *how, struct err *e);

/* "/v1/agents/NAME" and what follows. */
const char *agent_url(struct cli *cli, const char *name, const char *rest);

/* Prints the stored agent. */
int agent_print(struct cli *cli, const char *name, struct err *e);
int agent_print_stored(struct cli *cli, const char *name, const char *verb,
		       struct err *e);

#endif
