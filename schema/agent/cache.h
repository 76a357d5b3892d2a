#ifndef SCHEMA_AGENT_CACHE_H
#define SCHEMA_AGENT_CACHE_H

#include "lib/db/sql.h"

/*
 * The table `cache`: values that may be deleted at any time, by scope and key,
 * with an expiry time. Programs that use the agent file write them; skep
 * deletes the expired ones.
 */
/* Deletes expired values, in short transactions, at most max rows; returns
 * their number. */
int cache_gc(struct sql *db, int max, struct err *e);

#endif
