#ifndef BENCH_SUITES_STORE_H
#define BENCH_SUITES_STORE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A store for the events of one session: ours, the reference, the baseline,
 * peers. All get the same events, which are read back and compared. A store is
 * used by one process; several may have the same directory open.
 */
struct store_event {
	const char *json;
	size_t n;
	const char *key; /* idempotency key, or NULL */
};

struct store_kind {
	const char *name;
	const char *what; /* a line for tables */
	bool server;      /* it starts a server: CPU time is not that of the
			   * append */
	/* `session` distinguishes the writers of one directory. Creates
	 * *out. */
	int (*open)(void **out, const char *dir, const char *session,
		    struct err *e);
	/* n events, acknowledged together. */
	int (*append)(void *store, const struct store_event *ev, size_t n,
		      struct err *e);
	/* Calls each(arg, …) for every event in order. */
	int (*read)(void *store,
		    int (*each)(void *arg, const char *json, size_t n),
		    void *arg, struct err *e);
	/* For workloads, or NULL: reads the last n; changes the session. */
	int (*tail)(void *store, int n, struct err *e);
	int (*patch)(void *store, const char *json, struct err *e);
	/* Pragmas for the connection; NULL: not supported. */
	int (*tune)(void *store, const char *pragmas, struct err *e);
	void (*close)(void *store);
};

extern const struct store_kind store_reference;
extern const struct store_kind store_baseline;
extern const struct store_kind store_ours;
extern const struct store_kind store_ours_full; /* each append is on disk */
extern const struct store_kind store_jsonl;
/* These may not be installed: ERR_UNSUPPORTED. */
extern const struct store_kind store_redis;
extern const struct store_kind store_postgres;
extern const struct store_kind store_postgres_async;

/* A literal SQLite connection for the stores that are plain SQLite. */
struct sqlite3;
int store_sqlite_open(struct sqlite3 **out, const char *dir, const char *name,
		      const char *script, struct err *e);
int store_sqlite_fail(struct sqlite3 *db, const char *what, struct err *e);

#endif
