#ifndef SUPERVISOR_RUN_CLAIM_H
#define SUPERVISOR_RUN_CLAIM_H

#include "lib/sandbox/spec.h"
#include "schema/control/run_workspace.h"
#include "supervisor/run/internal.h"

/*
 * A queued run that is being started: everything that its start message needs
 * (start.c), and its workspace (claim_workspace.c).
 */
#define TOKEN_HEX 65

struct claim {
	struct supervisor *sup;
	struct run_active_row run;
	struct run_input_get_row input;
	struct agent_row agent;
	struct agent_database_row file;
	char token[TOKEN_HEX];
	char token_hash[HASH_HEX];
	char config_digest[HASH_HEX];
	const char *config;
	const char *artifacts;  /* required artifacts, or NULL */
	const char *bootstrap;  /* set-up of the workspace, or NULL */
	const char *reply;      /* destination of the answer, or NULL */
	const char *media;      /* owner of the attachments, or NULL */
	const char *prompt_key; /* of the user's message, or NULL */
	const char *replaces; /* the run whose messages it replaces, or NULL */
	struct run_workspace workspace;
	const char *fork_db;           /* file of another agent, or NULL */
	bool names_workspace;          /* the session does not matter */
	const char *session_workspace; /* as assumed; "": it names none */
	const char *messages;          /* that wait for the run, or NULL */
	bool has_children;             /* it may start child runs */
	const char *sandbox;
	struct sandbox_spec spec;
	struct arena arena;
};

/*
 * Chooses the workspace, in the transaction. Two runs of an agent work in one
 * workspace at the same time only if both share it. START_BLOCKED: another run
 * works there; the row says that this one waits, and a run that leaves the
 * workspace makes it startable again (run_change_state).
 *
 * Which workspace a session names is in the agent file, which skepd does not read
 * here. It assumes what the previous run of the session found. The worker compares
 * and, if this is wrong, ends before it has written anything; the run is then
 * queued again with what the worker found (run_finish).
 */
int claim_workspace(struct claim *c, const cJSON *spec, struct err *e);
const char *claim_workspace_mode(const struct claim *c);

/* The run was started: the next one that shares its workspace may follow. */
int claim_started(struct claim *c, struct err *e);

#endif
