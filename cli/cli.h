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
 * The context of a command. cli_main creates it, opens what the command needs,
 * calls .run, reports a failure once and frees everything. Results of these
 * functions are valid as long as the command runs.
 */
struct cli {
	char **argv; /* as given: args_parse reorders the words */
	struct args args;
	struct output out;
	struct arena arena;
	struct home home;
	struct config config;
	struct sql *control; /* NULL if not needed */
	/* a supervisor runs, which alone writes the control plane */
	bool supervised;
	bool read_only; /* the directory is not writable */
	struct http_client *http;
	struct agent_database_row file; /* registry row of the agent's file */
	struct agent_file agent;        /* .db NULL if not needed */
	const char *agent_name;
	const char *namespace; /* of NEEDS_AGENT_WORD: the namespace, or NULL */
	struct err later;      /* see cli_fail_later */
	bool fails_later;
};

int cli_main(int argc, char **argv); /* the exit status */

/* The i-th word after the command, or NULL. */
const char *cli_arg(const struct cli *cli, int i);

/* The arguments from the i-th on, joined by spaces. */
const char *cli_words(struct cli *cli, int i);

/* A text for a table cell: trailing white space is removed and, unless for
 * JSON, other white space becomes one space. A copy. */
const char *cli_trimmed(struct cli *cli, const char *text);

/* Options, already checked for their kind. */
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
/* The same for another action: "cancel all runs". */
int cli_confirm_action(struct cli *cli, const char *action, struct err *e);

/* The result of a change to a session: the sentence, or its row as JSON. */
int cli_print_session(struct cli *cli, const char *key, const char *done,
		      struct err *e);

/* Reads a file, or stdin for "-", into b, up to the limit of b. */
int cli_read(const char *path, struct buf *b, struct err *e);

/* The same for text: ERR_INVALID, naming `what` and the position, if it
 * contains a NUL or is not UTF-8. */
int cli_read_text(const char *path, const char *what, struct buf *b,
		  struct err *e);

/*
 * A change of the control plane. If a supervisor runs, it is requested over
 * HTTP; otherwise .direct is called, in a transaction that keeps a supervisor
 * from starting. Without a method, the change fails with ERR_BUSY while a
 * supervisor runs.
 */
struct cli_act {
	const char *method;
	const char *path; /* "/v1/agents/a"; names are checked or encoded */
	const char *body; /* JSON, or NULL */
	int (*direct)(struct cli *cli, void *arg, struct err *e);
	void *arg;
};

int cli_act(struct cli *cli, const struct cli_act *act, struct err *e);

/* Adds an audit row for a change of the agent's data: "AGENT/what". The change
 * is done regardless, so a failure here is a warning. */
void cli_done_to(struct cli *cli, const char *act, const char *what);

/* Sends a request to the supervisor; the response body is added to `answer`
 * (may be NULL). Returns the HTTP status, or -1 with the error. */
int cli_call(struct cli *cli, const char *method, const char *path,
	     const char *body, struct buf *answer, struct err *e);

/* Opens what the command needs (cli/needs.c). */
int cli_open(struct cli *cli, struct err *e);

/* For the next word of a command with .each, whose agent may be another one. */
int cli_open_next(struct cli *cli, struct err *e);

/* Replaces words of users by the ids that they mean, in all arguments and options
 * whose placeholder is RUN, APPROVAL, DELIVERY or MESSAGE
 * (schema/control/id_find.h). Happens before .run, so a wrong word changes
 * nothing. */
int cli_resolve(struct cli *cli, struct err *e);

/* Makes the command fail after .run has returned without an error. */
void cli_fail_later(struct cli *cli, const struct err *e);

/* Prints an error that does not end the command. */
void cli_report(const struct cli *cli, const struct err *e);

/* Opens the control plane for writing, for commands that need it only
 * sometimes. */
int cli_open_control(struct cli *cli, struct err *e);

/* The same; creates the home and its control plane if they do not exist. */
int cli_make_control(struct cli *cli, struct err *e);

/* Creates the file of cli->agent_name; cli->file is its row. */
int cli_make_file(struct cli *cli, struct err *e);

/* A failed command does not change the row of the registry. */
void cli_close(struct cli *cli, bool did_it);

/* Prints help (cli/help/help.c). noun NULL: help of skep itself. */
void help_skep(FILE *to);
void help_noun(FILE *to, const char *noun);
void help_command(FILE *to, const struct command *c);

/* The next placeholder of a usage line, *n bytes long, or NULL. */
const char *help_next_placeholder(const char *at, size_t *n);

#endif
