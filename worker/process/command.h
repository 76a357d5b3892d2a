#ifndef WORKER_PROCESS_COMMAND_H
#define WORKER_PROCESS_COMMAND_H

#include "ipc/start_message.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

/*
 * The configuration of the exec driver:
 *
 *   {"command": ["prog", "arg", …]}    or  {"shell": "a | b"} for /bin/sh -c
 *   "env":   {"NAME": "value", …}      set in the command's environment
 *   "pass":  ["NAME", …]               copied from the worker's environment
 *   "stdin": "lines"  the prompt as a line of JSON, later messages as further
 *                     lines (the default)
 *            "once"   the same line, then end of file
 *            "text"   the prompt as text, then end of file
 *            "none"   end of file at once
 *   "context": 20     how many earlier messages of the session are included
 *
 * The environment has only "env", "pass", the variables in environment.def, and
 * SKEP_RUN_ID, SKEP_ATTEMPT, SKEP_AGENT, SKEP_SESSION, SKEP_WORKSPACE.
 */
enum exec_stdin { STDIN_LINES, STDIN_ONCE, STDIN_TEXT, STDIN_NONE };

struct exec_config {
	char **argv;
	char **env;
	const char *cwd;
	enum exec_stdin in;
	int64_t context;
};

/* Everything is in a, except cwd, which is borrowed. ERR_INVALID names the
 * invalid member. */
int exec_config_read(struct exec_config *c, const struct msg_start *s,
		     const char *cwd, struct arena *a, struct err *e);

/* For drivers that start a command and have other settings too: ERR_INVALID for
 * a member that is not in `known` (NULL-terminated); and only argv and env,
 * after cwd was set. */
int exec_config_members(const char *driver, const char *const *known,
			const cJSON *v, struct err *e);
int exec_config_command(struct exec_config *c, const cJSON *v,
			const struct msg_start *s, struct arena *a,
			struct err *e);

/* Adds the variables in worker/driver/acp/env.def from the worker's
 * environment, unless env has them already. */
int exec_config_network(struct exec_config *c, struct arena *a, struct err *e);

/* Its files and directories of certificates: the n-th, NULL after the last, ""
 * for an unset one. */
const char *exec_config_certificates(size_t n);

#endif
