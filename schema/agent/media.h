#ifndef SCHEMA_AGENT_MEDIA_H
#define SCHEMA_AGENT_MEDIA_H

#include "schema/agent/artifact.h"

/*
 * Attachments of messages. The row is the truth; a file exists only for as long
 * as some program needs a path. An attachment has a relative path, unique in
 * its message ("photos/cat.jpg"); a thumbnail has the path of what it shows.
 */
struct media_ref {
	const char *sid; /* session */
	int64_t seq;     /* event */
	const char *path;
	bool is_thumbnail;
};

int media_put(struct sql *db, const struct media_ref *ref, const char *mime,
	      struct blob bytes, struct id *aid, struct err *e);

/* 1, or 0 if there is none. */
int media_find(struct sql *db, const struct media_ref *ref,
	       struct artifact_row *row, struct arena *a, struct err *e);

/* Attachments of a message, without thumbnails; how many. */
int media_list(struct sql *db, const char *sid, int64_t seq,
	       struct artifact_row **rows, struct arena *a, struct err *e);

/*
 * Makes the file DIR/<16 digits of its SHA-256>/<last part of the name>, or
 * finds it there, and gives its path, in the arena. Whole or not at all: it is
 * written beside and renamed. For any artifact. DIR is made (0700) if missing;
 * files are 0600. The file may be used until media_sweep finds it too old.
 */
int media_materialise(struct sql *db, const char *aid, const char *dir,
		      const char **path, struct arena *a, struct err *e);

/* Removes what was materialised below dir, or below dir/CHANNEL for a plugin, and
 * not asked for during the last `age` ms; returns how many files. A directory that is not there is fine. */
int media_sweep(const char *dir, int64_t age, struct err *e);

#endif
