#ifndef SCHEMA_AGENT_TRANSCRIPT_VISIBILITY_H
#define SCHEMA_AGENT_TRANSCRIPT_VISIBILITY_H

#include "schema/agent/transcript/history.h"

/*
 * Which session shows an event: its own, or a fork that stands on it, unless a
 * rewind has hidden it there. For searches, which find events by what they
 * hold. What sessions show is remembered, so a visible is for one question.
 */
#define VISIBLE_CACHED 64

struct visible {
	struct agent_file *file;
	enum history_view view;  /* HISTORY_LOG: also what was rewound */
	int64_t only;            /* session.id, archived or not; 0: any */
	bool archived;           /* also archived and ephemeral sessions */
	struct visible_shown {   /* private; place: session % VISIBLE_CACHED */
		int64_t session; /* 0: this place is empty */
		bool is_wanted;
		struct history history;
		struct arena mem;
	} shown[VISIBLE_CACHED];
};

/* 1 and *who (session.id), 0 if nobody shows it, -1. */
int visible_who(struct visible *v, int64_t pos, int64_t *who, struct err *e);
void visible_fini(struct visible *v);

#endif
