#ifndef SCHEMA_AGENT_MEDIA_H
#define SCHEMA_AGENT_MEDIA_H

#include "schema/agent/artifact.h"

/*
 * Makes the file DIR/<16 digits of its SHA-256>/<last part of the name>, or
 * finds it there, and gives its path, in the arena. Whole or not at all: it is
 * written beside and renamed. For any artifact. DIR is made (0700) if missing;
 * files are 0600. The file may be used until media_gc finds it too old.
 */
int media_materialise(struct sql *db, const char *aid, const char *dir,
		      const char **path, struct arena *a, struct err *e);

/* Removes what was materialised below dir, or below dir/CHANNEL for a plugin, and
 * not asked for during the last `age` ms; returns how many files. A directory that is not there is fine. */
int media_gc(const char *dir, int64_t age, struct err *e);

#endif
