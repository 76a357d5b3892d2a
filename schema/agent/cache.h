#ifndef SCHEMA_AGENT_CACHE_H
#define SCHEMA_AGENT_CACHE_H

#include "lib/db/sql.h"

/*
 * The table `cache`: values that may be lost at any time, by scope and key, with
 * a time after which they are not valid. Programs that use the file of an agent
 * write them; skep removes those that have expired.
 */
/* Frees what has expired, in short transactions, at most max rows; how many. */
int cache_gc(struct sql *db, int max, struct err *e);

#endif
