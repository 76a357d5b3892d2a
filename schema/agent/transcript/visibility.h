#ifndef SCHEMA_AGENT_TRANSCRIPT_VISIBILITY_H
#define SCHEMA_AGENT_TRANSCRIPT_VISIBILITY_H

#include "schema/agent/transcript/history.h"

/*
 * Finds the session that shows an event: its own, or a fork of that, unless a
 * rewind has hidden the event there. For searches, which find events by their
 * content. The ranges of sessions are cached, so use an object for one query
 * only.
 */
#define VISIBLE_CACHED 64

struct visible {
	struct agent_file *file;
	enum history_view view;  /* HISTORY_LOG: also events that were
				  * rewound */
	int64_t only;            /* session.id, archived or not; 0: any */
	bool archived;           /* include archived and ephemeral sessions */
	struct visible_shown {   /* private; index: session % VISIBLE_CACHED */
		int64_t session; /* 0: this entry is empty */
		bool is_wanted;
		struct history history;
		struct arena mem;
	} shown[VISIBLE_CACHED];
};

/* Returns 1 and *who (session.id), 0 if no session shows it, or -1. */
int visible_who(struct visible *v, int64_t pos, int64_t *who, struct err *e);
void visible_fini(struct visible *v);

#endif
