#ifndef SCHEMA_AGENT_MEDIA_H
#define SCHEMA_AGENT_MEDIA_H

#include "schema/agent/artifact.h"

/*
 * Creates the file DIR/<16 digits of its SHA-256>/<last part of the name>, or
 * finds it there, and returns its path, in the arena. It is written to a
 * temporary file and renamed, so it is never incomplete. Works for any
 * artifact. DIR is created (0700) if it is missing; files are 0600. The file
 * can be used until media_gc finds it too old.
 */
int media_materialise(struct sql *db, const char *aid, const char *dir,
		      const char **path, struct arena *a, struct err *e);

/* Removes files below dir, or below dir/CHANNEL for a plugin, that were not
 * used during the last `age` ms; returns their number. A missing directory is
 * not an error. */
int media_gc(const char *dir, int64_t age, struct err *e);

#endif
