#ifndef SCHEMA_AGENT_TRANSCRIPT_SESSION_H
#define SCHEMA_AGENT_TRANSCRIPT_SESSION_H

#include "schema/agent/agent_file.h"

/*
 * Sessions of one agent, by key. A key is 1 to 512 bytes of UTF-8 without
 * control characters. Rows are copied to the caller's arena.
 */
#define SESSION_KEY_MAX  512
#define SESSION_META_MAX (1u << 20)

struct session_new { /* all members except key are optional */
	const char *key;
	const char *sid;    /* a given id, for imports */
	const char *status; /* NULL: active */
	const char *kind;
	const char *title;
	const char *model;
	const char *source;
	const char *parent;
	const char *meta; /* JSON object */
	bool is_ephemeral;
	int64_t created_at; /* 0: now */
};

/* Returns 1 and the row, 0 if there is none, or -1. `key` may also be an id
 * (ses_…). */
int session_get(struct agent_file *f, const char *key, struct session_row *row,
		struct arena *a, struct err *e);

/* The same, but a missing session is ERR_NOTFOUND: 0 or -1. */
int session_need(struct agent_file *f, const char *key, struct session_row *row,
		 struct arena *a, struct err *e);

/* Creates the session if it does not exist: returns 1 if it was created, else
 * 0. */
int session_ensure(struct agent_file *f, const struct session_new *s,
		   struct session_row *row, struct arena *a, struct err *e);

/*
 * Applies a JSON merge patch (RFC 7396) to the row: {"title": …, "model": …,
 * "status": …, "kind": …, "source": …, "parent": …, "workspace": …,
 * "ephemeral": …, "meta": {…}}; null clears. Another member, or a namespace
 * that does not exist, is ERR_INVALID. With if_rev > 0 the patch applies only
 * to that revision; otherwise ERR_CONFLICT names the current one. Two patches
 * of different fields are both applied.
 */
int session_patch(struct agent_file *f, const char *key, const char *patch,
		  int64_t if_rev, struct session_row *row, struct arena *a,
		  struct err *e);

/* The run works in a namespace that it named. Its later runs work there as well,
 * if the run is the first one of the session that has not failed. `session` and
 * `run` are ids of rows. */
int session_keep_workspace(struct agent_file *f, int64_t session, int64_t run,
			   const char *name, struct err *e);

struct session_filter { /* NULL: any */
	const char *status;
	const char *kind;
	const char *source;
	const char *model;
	const char *parent;
	const char *prefix; /* of the key */
	bool all;           /* include archived and ephemeral ones */
	int64_t before; /* keyset cursor: id of the last row seen; 0: start */
	int count;      /* maximum number of rows; 0: 100 */
};

/* Newest first; returns the number of rows, or -1. Filters by source, model and
 * parent scan; one by prefix reads all matching sessions; others have an
 * index. */
int session_list(struct agent_file *f, const struct session_filter *filter,
		 struct session_item **rows, struct arena *a, struct err *e);

/* Standing permissions of a session ("always allow"). Forks do not inherit
 * them. */
int session_grant(struct agent_file *f, int64_t session, const char *tool,
		  const char *pattern, const char *decision, struct err *e);
int session_grants(struct agent_file *f, int64_t session,
		   struct grant_row **rows, struct arena *a, struct err *e);

#endif
