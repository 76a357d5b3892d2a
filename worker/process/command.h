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
 *   "pass":  ["NAME", …]               passed on from the worker's own
 *   "stdin": "lines"  the prompt as a line of JSON, later messages as further
 *                     lines (the default)
 *            "once"   the same line, then end of file
 *            "text"   the prompt as it is, then end of file
 *            "none"   end of file at once
 *   "context": 20     how many earlier messages of the session the prompt holds
 *
 * The environment has nothing but "env", "pass", what environment.def passes on
 * and SKEP_RUN_ID, SKEP_ATTEMPT, SKEP_AGENT, SKEP_SESSION, SKEP_WORKSPACE.
 */
enum exec_stdin { STDIN_LINES, STDIN_ONCE, STDIN_TEXT, STDIN_NONE };

struct exec_config {
	char **argv;
	char **env;
	const char *cwd;
	enum exec_stdin in;
	int64_t context;
};

/* Everything is in a, but cwd, which is borrowed. ERR_INVALID names the member
 * that is wrong. */
int exec_config_read(struct exec_config *c, const struct msg_start *s,
		     const char *cwd, struct arena *a, struct err *e);

/* For drivers that start a command and have other settings too: ERR_INVALID for
 * a member that is none of `known` (a list that NULL ends); and argv and env
 * alone, after cwd was set. */
int exec_config_members(const char *driver, const char *const *known,
			const cJSON *v, struct err *e);
int exec_config_command(struct exec_config *c, const cJSON *v,
			const struct msg_start *s, struct arena *a,
			struct err *e);

/* Adds what worker/driver/acp/env.def names and the worker's own environment
 * has, unless env has it already. */
int exec_config_network(struct exec_config *c, struct arena *a, struct err *e);

/* Its files and directories of certificates: the n-th, NULL when there are no
 * more, "" for one that is not set. */
const char *exec_config_certificates(size_t n);

#endif
