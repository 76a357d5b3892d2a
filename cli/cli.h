#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/command.h"
#include "cli/output.h"
#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "schema/agent/agent_file.h"
#include "schema/config.h"
#include "schema/control_queries.h"
#include "schema/home.h"

struct http_client;

/*
 * What a command works with. cli_main makes it, fills what the command's needs
 * ask for, calls .run, reports a failure once and frees everything. What comes
 * out of these functions lives as long as the command runs.
 */
struct cli {
	struct args args;
	struct output out;
	struct arena arena;
	struct home home;
	struct config config;
	struct sql *control; /* NULL if not needed */
	bool supervised;     /* a supervisor runs: it writes, not we */
	bool read_only;      /* its place cannot be written */
	struct http_client *http;
	struct agent_database_row file; /* registry row of the agent's file */
	struct agent_file agent;        /* .db NULL if not needed */
	const char *agent_name;
	const char *space; /* of NEEDS_AGENT_WORD: the namespace, or NULL */
};

int cli_main(int argc, char **argv); /* the exit status */

/* The i-th word after the command, or NULL. */
const char *cli_arg(const struct cli *cli, int i);

/* The words from the i-th on, with blanks between. */
const char *cli_words(struct cli *cli, int i);

/* A text for a cell: no blanks and line breaks at its end, and, unless as JSON,
 * one blank for those within. A copy. */
const char *cli_trimmed(struct cli *cli, const char *text);

/* Options, checked for their kind already. */
const char *cli_option(const struct cli *cli, const char *name); /* or NULL */
bool cli_flag(const struct cli *cli, const char *name);
int64_t cli_number(const struct cli *cli, const char *name, int64_t other);
int cli_count(const struct cli *cli, const char *name, int other);
/* The i-th value of an OPTION_MANY, or NULL. */
const char *cli_many(const struct cli *cli, const char *name, int i);

/* Asks on a terminal whether to delete `what`, unless --yes is given. The second
 * also requires --yes where there is no terminal. ERR_CANCELED: the user said
 * no. */
int cli_confirm(struct cli *cli, const char *what, struct err *e);
int cli_confirm_always(struct cli *cli, const char *what, struct err *e);

/* Prints a session's row as it now is. */
int cli_print_session(struct cli *cli, const char *key, struct err *e);

/* All of a file, or of stdin for "-", into b (whose ceiling is the limit). Says
 * so on stderr before it reads from a terminal. */
int cli_read(const char *path, struct buf *b, struct err *e);

/* The same, and it must be text: ERR_INVALID, naming `what` and the place, if it
 * holds a NUL or is not UTF-8. */
int cli_read_text(const char *path, const char *what, struct buf *b,
		  struct err *e);

/*
 * One change of the control plane. While a supervisor runs, it is asked by
 * HTTP; else .direct runs, in one transaction in which none can become one.
 * Without a method it can be done only while none runs (ERR_BUSY).
 */
struct cli_act {
	const char *method;
	const char *path; /* "/v1/agents/a": names checked or encoded already */
	const char *body; /* JSON, or NULL */
	int (*direct)(struct cli *cli, void *arg, struct err *e);
	void *arg;
};

int cli_act(struct cli *cli, const struct cli_act *act, struct err *e);

/* An audit row for what was done to the agent's data: "AGENT/what". It is done
 * whatever comes of this, so trouble here is a warning. */
void cli_done_to(struct cli *cli, const char *act, const char *what);

/* Asks the supervisor over its socket; the answer's body is added to `answer`
 * (may be NULL). The HTTP status, or -1 with the error that it had. */
int cli_call(struct cli *cli, const char *method, const char *path,
	     const char *body, struct buf *answer, struct err *e);

/* Opens what the command needs (cli/needs.c). */
int cli_open(struct cli *cli, struct err *e);

/* The control plane for writing, for a command that needs it only sometimes. */
int cli_open_control(struct cli *cli, struct err *e);

/* The same, and makes the home and its control plane if there are none. */
int cli_make_control(struct cli *cli, struct err *e);

/* A file for cli->agent_name, which has none yet; cli->file is its row. */
int cli_make_file(struct cli *cli, struct err *e);

/* A command that failed leaves the registry's row as it was. */
void cli_close(struct cli *cli, bool did_it);

/* Help texts (cli/help/help.c). noun NULL: of skep itself. */
void help_skep(FILE *to);
void help_noun(FILE *to, const char *noun);
void help_command(FILE *to, const struct command *c);

/* The next placeholder of a usage line, *n bytes long, or NULL. */
const char *help_next_placeholder(const char *at, size_t *n);

#endif
