#ifndef BENCH_CONTENTION_CONTENTION_H
#define BENCH_CONTENTION_CONTENTION_H

#include "bench/bench.h"
#include "bench/contention/workload.h"
#include "bench/suites/store.h"

/*
 * Several processes that write at once. A setting describes the writers;
 * contention_measure forks them, runs them for bench_seconds(r), checks what
 * they wrote, and returns the result.
 */
enum layout {
#define LAYOUT(name, what) LAYOUT_##name,
#include "bench/contention/layouts.def"
#undef LAYOUT
	LAYOUTS
};

const char *layout_name(enum layout l);
const char *layout_what(enum layout l);

struct setting {
	enum layout layout;
	int processes;
	struct workload work;
	const char *pragmas; /* for every connection, or NULL */
	bool retry; /* no busy_timeout: try again after a short sleep */
};

#define WRITERS_MAX  256
#define TIMELINE_MAX 512

struct timeline_sample { /* one every TIMELINE_MS */
	double events;   /* committed since the last one */
	double wal_mb;
};

#define TIMELINE_MS 20

struct outcome {
	double events_per_s;
	struct histogram wait; /* ns of a commit, waiting included */
	struct histogram other[OPERATIONS]; /* ns of other operations */
	double seconds;
	double fairness; /* slowest writer / fastest */
	int64_t starved; /* writers that committed nothing */
	int64_t busy;    /* SQLITE_BUSY errors that the program saw */
	double wal_peak_mb;
	double commits_per_sync; /* group commit: events a commit */
	struct timeline_sample timeline[TIMELINE_MAX];
	size_t moments;
};

int contention_measure(struct bench_run *r, const struct setting *s,
		       struct outcome *out, struct err *e);

/* --- shared between the files of it ------------------------------------ */

struct writer_stats { /* shared by the writers, in shared memory */
	struct histogram wait;
	struct histogram other[OPERATIONS];
	int64_t events;
	int64_t busy;
	struct err failed; /* code ERR_OK: it succeeded */
};

struct shared_stats {
	_Atomic int ready; /* writers whose file is open */
	_Atomic bool go;
	_Atomic bool stop;
	_Atomic int64_t events; /* of all, for the timeline */
	int64_t commits;        /* of the one writer of a group */
	struct writer_stats writers[WRITERS_MAX];
};

/* The file of writer i of a setting, and its number-th session. */
int contention_open(const struct setting *s, const char *dir, int writer,
		    int64_t number, void **out, struct err *e);
const struct store_kind *contention_kind(enum layout l);

/* The processes; each exits with _exit. */
void contention_write(const struct setting *s, struct shared_stats *b,
		      const char *dir, int i);

void group_client(const struct setting *s, struct shared_stats *b, int me,
		  int fd);
void group_writer(const struct setting *s, struct shared_stats *b,
		  const int *fds, const char *dir);

#endif
