#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A command is one struct command in cli/NOUN/VERB.c, and a line in
 * commands.def. The parser, --help, the man pages and the shell completions
 * are generated from these entries. All of them are constants.
 */
struct cli; /* cli/cli.h: the context of a command */

/* What is opened before .run is called. Each need includes its prerequisites: a
 * database needs the home and the configuration. */
enum command_needs {
	NEEDS_NOTHING = 0,
	NEEDS_HOME = 1 << 0,   /* the path; nothing is created or opened */
	NEEDS_CONFIG = 1 << 1, /* skep.json, or the defaults */
	NEEDS_CONTROL_READ = 1 << 2,  /* cli->control, for reading */
	NEEDS_CONTROL_WRITE = 1 << 3, /* the same; change it with cli_act */
	NEEDS_CONTROL_MADE = 1 << 4,  /* the same; creates a missing home */
	NEEDS_AGENT_FILE = 1 << 5,    /* cli->agent; --agent is an option */
	NEEDS_AGENT_MADE = 1 << 6,    /* the same; creates a missing file */
	NEEDS_AGENT_MAYBE = 1 << 7,   /* the same; cli->agent.db is NULL if the
				       * agent has no file yet */
	NEEDS_SUPERVISOR = 1 << 8,  /* a supervisor must run: cli_call works */
	NEEDS_AGENT_WORD = 1 << 9,  /* the first argument is the agent, as
				       * AGENT[:NAMESPACE]; cli_arg(0) is the
				       * argument after it */
	NEEDS_NO_SETTING = 1 << 10, /* works with the defaults if skep.json is
				       * invalid, so that a typo there does not
				       * keep a user from active runs */
};

#define NEEDS_AGENT_ANY \
	(NEEDS_AGENT_FILE | NEEDS_AGENT_MADE | NEEDS_AGENT_MAYBE)

enum option_kind {
	OPTION_FLAG,   /* no value */
	OPTION_TEXT,   /* any text */
	OPTION_NAME,   /* of an agent or the like: text_check_name */
	OPTION_SIGNED, /* a whole number */
	OPTION_INT,    /* the same, 0 or more */
	OPTION_COUNT,  /* the same, 1 or more */
	OPTION_BYTES,  /* "64k" */
	OPTION_MILLIS, /* "30s" */
	OPTION_FILE,   /* a path; "-" is stdin or stdout */
	OPTION_WORD,   /* one of .value, "a|b|c" */
	OPTION_MANY,   /* text, may be given several times */
};

struct option_spec {
	const char *name;  /* "reason" for --reason */
	const char *value; /* "TEXT", NULL for a flag */
	const char *help;
	enum option_kind kind;
	char letter; /* 'r' for -r; 0: no short form */
};

#define OPTION(kind, letter, name, value, help)          \
	{                                                \
		name, value, help, OPTION_##kind, letter \
	}
#define FLAG(letter, name, help)                      \
	{                                             \
		name, NULL, help, OPTION_FLAG, letter \
	}
#define OPTIONS(...)                               \
	((const struct option_spec[]){__VA_ARGS__, \
				      {NULL, NULL, NULL, OPTION_FLAG, 0}})

/* Options that mean the same in every command that has them. */
#define OPT_ALL(help)    FLAG('A', "all", help)
#define OPT_AGENT(help)  OPTION(NAME, 'a', "agent", "AGENT", help)
#define OPT_FOLLOW(help) FLAG('f', "follow", help)
#define OPT_LIMIT(help)  OPTION(COUNT, 'n', "limit", "N", help)
#define OPT_OUTPUT(help) OPTION(FILE, 'o', "output", "FILE", help)
#define OPT_QUIET        FLAG('q', "quiet", "print only the first column")
/* Of every list (cli/list.h). */
#define OPT_LIST                                                              \
	OPT_QUIET, OPTION(TEXT, 'o', "as", "FORMAT",                          \
			  "wide (complete ids and exact times), name, json, " \
			  "jsonl, csv, or columns such as id,state")
#define OPT_YES(help) FLAG('y', "yes", help)

/* The meaning of a placeholder such as RUN in a usage line. */
struct placeholder {
	const char *name;
	const char *help;
};

#define ARGUMENTS(...) ((const struct placeholder[]){__VA_ARGS__, {NULL, NULL}})

struct command {
	const char *name;  /* "session ls", or one word */
	const char *args;  /* "SESSION [FILE] [TAG...]", NULL for none; AGENT
			    * and CHANNEL must be names, others UTF-8 */
	const char *help;  /* one line, no capital, no full stop */
	const char *about; /* paragraphs for --help and the man page, or NULL;
			    * see cli/help/wrap.h */
	bool is_default;   /* of its noun: the verb may be omitted */
	bool each;         /* .run is called for each word, as cli_arg(0) */
	unsigned needs;
	const struct placeholder *arguments; /* where placeholders.def does
					      * not fit; or NULL */
	const char *may_be_empty; /* the argument that may be ''; or NULL */
	const struct option_spec *options; /* ends with a NULL name; or NULL */
	int (*run)(struct cli *cli, struct err *e);
};

struct noun {
	const char *name;
	const char *help;
};

#define COMMAND(name) extern const struct command cmd_##name;
#include "cli/commands.def"
#undef COMMAND

extern const struct command *const commands[]; /* ends with NULL */
extern const struct noun nouns[];              /* ends with a NULL name */
extern const struct option_spec global_options[];
extern const struct option_spec agent_option[]; /* see command_takes_agent */
extern const struct placeholder placeholders[]; /* ends with a NULL name */

/* Whether the command has the option --agent besides its own options. */
bool command_takes_agent(const struct command *c);

/* The meaning of a placeholder in a command's usage line, or NULL. */
const char *placeholder_help(const struct command *c, const char *name,
			     size_t n);

/*
 * One parsed command line. Borrows argv. command NULL: the words end at a noun
 * (NULL: at none), whose help is printed.
 */
#define ARGS_OPTIONS_MAX 64

struct args {
	const struct command *command;
	const char *noun;
	bool help;
	bool version;
	int nwords; /* positional words after the command */
	char **words;
	int noptions; /* in the order given */
	struct args_option {
		const struct option_spec *spec;
		const char *value; /* "" for a flag */
	} options[ARGS_OPTIONS_MAX];
};

/* Reads argv[1..] into *a; reorders argv so that a->words are together.
 * ERR_USAGE suggests a similar name. Values are checked for their kind, words
 * for their number. args_option finds --json, --home and --no-color even if the
 * parse fails at a later word. */
int args_parse(struct args *a, int argc, char **argv, struct err *e);

/* The placeholder that describes the i-th word, *n bytes long: RUN for the words
 * of "[RUN...]". */
const char *args_placeholder(const struct args *a, int i, size_t *n);

/* The last value of an option, or NULL. */
const char *args_option(const struct args *a, const char *name);

/* ERR_USAGE with a suggestion or the verbs of the noun. */
int unknown_command(const char *noun, const char *word, struct err *e);
/* ERR_USAGE; noun is NULL if there is none. */
int missing_command(const char *noun, struct err *e);

#endif
