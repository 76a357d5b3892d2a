#ifndef SCHEMA_AGENT_CACHE_H
#define SCHEMA_AGENT_CACHE_H

#include "lib/db/sql.h"

/*
 * Values that may be lost at any time: by scope ("models", "tool:web") and key,
 * with a time after which they are never returned. Up to 16 MiB each.
 */
#define CACHE_VALUE_MAX ((size_t)16 << 20)

/* ttl in ms; 0: for good. */
int cache_put(struct sql *db, const char *scope, const char *key,
	      struct blob value, int64_t ttl, struct err *e);

/* 1 with the value in the arena, or 0. */
int cache_get(struct sql *db, const char *scope, const char *key,
	      struct blob *value, struct arena *a, struct err *e);

/* Rows removed. */
int cache_delete(struct sql *db, const char *scope, const char *key,
		 struct err *e);
int cache_clear(struct sql *db, const char *scope, struct err *e);

/* Frees what has expired, in short transactions, at most max rows; how many. */
int cache_sweep(struct sql *db, int max, struct err *e);

#endif
