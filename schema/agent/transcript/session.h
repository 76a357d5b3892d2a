#ifndef SCHEMA_AGENT_TRANSCRIPT_SESSION_H
#define SCHEMA_AGENT_TRANSCRIPT_SESSION_H

#include "schema/agent/agent_file.h"

/*
 * Sessions of one agent, by key. A key is 1 to 512 bytes of UTF-8 without
 * control characters. Rows are copied to the caller's arena.
 */
#define SESSION_KEY_MAX  512
#define SESSION_META_MAX (1u << 20)

struct session_new { /* all but key may be left out */
	const char *key;
	const char *sid;    /* a known id, for imports */
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

/* 1 and the row, 0 if there is none, -1. `key` may also be an id (ses_…). */
int session_get(struct agent_file *f, const char *key, struct session_row *row,
		struct arena *a, struct err *e);

/* The same, but none is ERR_NOTFOUND: 0 or -1. */
int session_need(struct agent_file *f, const char *key, struct session_row *row,
		 struct arena *a, struct err *e);

/* Makes the session if it is not there: 1 if made, 0 if it was there. */
int session_ensure(struct agent_file *f, const struct session_new *s,
		   struct session_row *row, struct arena *a, struct err *e);

/*
 * JSON merge patch (RFC 7396) of the row: {"title": …, "model": …, "status": …,
 * "kind": …, "source": …, "parent": …, "ephemeral": …, "meta": {…}}; null
 * clears. Another member is ERR_INVALID. With if_rev > 0 the patch applies only
 * to that revision, otherwise ERR_CONFLICT names the one that is there. Two
 * patches of different fields both land.
 */
int session_patch(struct agent_file *f, const char *key, const char *patch,
		  int64_t if_rev, struct session_row *row, struct arena *a,
		  struct err *e);

struct session_filter { /* NULL: any */
	const char *status;
	const char *kind;
	const char *source;
	const char *model;
	const char *parent;
	const char *prefix; /* of the key */
	bool all;           /* archived and ephemeral ones too */
	int64_t before; /* keyset cursor: id of the last row seen; 0: start */
	int count;      /* at most this many; 0: 100 */
};

/* Newest first: how many rows, or -1. Filters by source, model and parent scan;
 * one by prefix costs what all matching sessions cost; others have an index. */
int session_list(struct agent_file *f, const struct session_filter *filter,
		 struct session_item **rows, struct arena *a, struct err *e);

/* Standing permissions of a session ("always allow"). Forks inherit none. */
int session_grant(struct agent_file *f, int64_t session, const char *tool,
		  const char *pattern, const char *decision, struct err *e);
int session_grants(struct agent_file *f, int64_t session,
		   struct grant_row **rows, struct arena *a, struct err *e);

#endif
