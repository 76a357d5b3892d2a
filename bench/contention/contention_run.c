/* Forks the writers of a setting, watches them, and adds up their results. */
#include "bench/contention/contention.h"
#include "bench/load/events.h"
#include "lib/base/clock.h"
#include "lib/os/file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	const char *what;
} layouts[LAYOUTS] = {

#define LAYOUT(name, what) [LAYOUT_##name] = {#name, what},
#include "bench/contention/layouts.def"
#undef LAYOUT
};

const char *layout_name(enum layout l)
{
	return layouts[l].name;
}

const char *layout_what(enum layout l)
{
	return layouts[l].what;
}

static bool is_plain(enum layout l)
{
	return l == LAYOUT_plain_own || l == LAYOUT_plain_shared;
}

static bool is_own(enum layout l)
{
	return l == LAYOUT_own || l == LAYOUT_plain_own;
}

const struct store_kind *contention_kind(enum layout l)
{
	return is_plain(l) ? &store_reference : &store_ours;
}

/* The directory of writer i; each file has its own directory, like those of
 * agents. */
static void writer_dir(const struct setting *s, const char *dir, int i,
		       char *out, size_t n)
{
	snprintf(out, n, "%s/%d", dir, is_own(s->layout) ? i : 0);
}

static void session_of(int writer, int64_t number, char *out, size_t n)
{
	snprintf(out, n, "writer-%d-%d", writer, (int)number);
}

int contention_open(const struct setting *s, const char *dir, int writer,
		    int64_t number, void **out, struct err *e)
{
	const struct store_kind *kind = contention_kind(s->layout);
	char place[4096], session[64];

	writer_dir(s, dir, writer, place, sizeof place);
	session_of(writer, number, session, sizeof session);
	if (kind->open(out, place, session, e))
		return -1;
	return s->pragmas ? kind->tune(*out, s->pragmas, e) : 0;
}

/* --- starting and watching --------------------------------------------- */

static int make_places(const struct setting *s, const char *dir, struct err *e)
{
	for (int i = 0; i < (is_own(s->layout) ? s->processes : 1); i++) {
		char place[4096];

		writer_dir(s, dir, i, place, sizeof place);
		if (mkdir(place, 0700))
			return err_errno_set(e, "%s", place);
	}
	return 0;
}

static pid_t start_writer(const struct setting *s, struct shared_stats *b,
			  const char *dir, int i)
{
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGINT, SIG_IGN); /* the parent ends us */
		contention_write(s, b, dir, i);
	}
	return pid;
}

/* One socket pair per client; the writer is the last process. */
static void start_group(const struct setting *s, struct shared_stats *b,
			const char *dir, pid_t *pids)
{
	int fds[WRITERS_MAX];
	char place[4096];

	writer_dir(s, dir, 0, place, sizeof place);
	for (int i = 0; i < s->processes; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			abort();
		pids[i] = fork();
		if (pids[i] == 0) {
			signal(SIGINT, SIG_IGN);
			close(pair[0]);
			group_client(s, b, i, pair[1]);
		}
		close(pair[1]);
		fds[i] = pair[0];
	}
	pids[s->processes] = fork();
	if (pids[s->processes] == 0) {
		signal(SIGINT, SIG_IGN);
		group_writer(s, b, fds, place);
	}
	for (int i = 0; i < s->processes; i++)
		close(fds[i]);
}

static double wal_mb(const struct setting *s, const char *dir)
{
	int64_t sum = 0;

	for (int i = 0; i < (is_own(s->layout) ? s->processes : 1); i++) {
		char path[4200];
		int64_t n;

		snprintf(path, sizeof path, "%s/%d/%s-wal", dir, i,
			 is_plain(s->layout) ? "reference.sqlite"
					     : "agent.sqlite");
		n = file_size(path);
		sum += n > 0 ? n : 0;
	}
	return (double)sum / 1e6;
}

static void sample_timeline(struct bench_run *r, const struct setting *s,
			    struct shared_stats *b, const char *dir,
			    struct outcome *out)
{
	int64_t begin = clock_mono_ns(), last = 0;
	int64_t end = begin + (int64_t)(bench_seconds(r) * 1e9);

	atomic_store(&b->go, true);
	while (clock_mono_ns() < end && !bench_stopped(r)) {
		int64_t now;
		double mb;

		usleep(TIMELINE_MS * 1000);
		now = atomic_load(&b->events);
		mb = wal_mb(s, dir);
		if (mb > out->wal_peak_mb)
			out->wal_peak_mb = mb;
		if (out->moments < TIMELINE_MAX)
			out->timeline[out->moments++] =
				(struct timeline_sample){(double)(now - last),
							 mb};
		last = now;
	}
	out->seconds = (double)(clock_mono_ns() - begin) / 1e9;
	out->events_per_s = (double)atomic_load(&b->events) / out->seconds;
	atomic_store(&b->stop, true);
}

static int wait_for_all(const pid_t *pids, int n)
{
	int bad = 0;

	for (int i = 0; i < n; i++) {
		int status = 0;

		while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
			;
		bad += status != 0;
	}
	return bad;
}

/* False if a writer failed before it was ready. */
static bool all_ready(struct shared_stats *b, int n)
{
	while (atomic_load(&b->ready) < n) {
		for (int i = 0; i < n; i++)
			if (b->writers[i].failed.code)
				return false;
		usleep(1000);
	}
	return true;
}

static void add_up(const struct setting *s, const struct shared_stats *b,
		   struct outcome *out)
{
	int64_t least = INT64_MAX, most = 0;

	for (int i = 0; i < s->processes; i++) {
		const struct writer_stats *w = &b->writers[i];

		histogram_merge(&out->wait, &w->wait);
		for (int o = 0; o < OPERATIONS; o++)
			histogram_merge(&out->other[o], &w->other[o]);
		out->busy += w->busy;
		out->starved += w->events == 0;
		least = w->events < least ? w->events : least;
		most = w->events > most ? w->events : most;
	}
	out->fairness = most > 0 ? (double)least / (double)most : 0;
	if (b->commits > 0)
		out->commits_per_sync = (double)b->events / (double)b->commits;
}

/* The number of events of the k-th session of a writer: commits rotate. */
static int64_t share_of(const struct workload *w, int64_t events, int64_t k)
{
	int64_t commits = events / w->batch;

	return (commits / w->sessions + (k < commits % w->sessions)) * w->batch;
}

static int verify(const struct setting *s, const struct shared_stats *b,
		  const char *dir, struct err *e)
{
	const struct store_kind *kind = contention_kind(s->layout);

	for (int i = 0; i < s->processes; i++)
		for (int64_t k = 0; k < s->work.sessions; k++) {
			int64_t n = share_of(&s->work, b->writers[i].events, k);
			void *store;
			int rc;

			if (contention_open(s, dir, i, k, &store, e))
				return -1;
			rc = events_verify(kind, store, n, &s->work.bytes, e);
			kind->close(store);
			if (rc)
				return err_wrap(e, "writer %d", i);
		}
	return 0;
}

static int collect(const struct setting *s, struct shared_stats *b,
		   const char *dir, int bad, struct outcome *out, struct err *e)
{
	for (int i = 0; i < s->processes; i++)
		if (b->writers[i].failed.code) {
			*e = b->writers[i].failed;
			return err_wrap(e, "writer %d", i);
		}
	if (bad)
		return err_set(e, ERR_INTERNAL, "%d writers died", bad);
	add_up(s, b, out);
	return verify(s, b, dir, e);
}

int contention_measure(struct bench_run *r, const struct setting *s,
		       struct outcome *out, struct err *e)
{
	const char *dir = bench_dir(r, layout_name(s->layout));
	int n = s->processes + (s->layout == LAYOUT_group);
	struct shared_stats *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[WRITERS_MAX + 1];
	int rc;

	if (b == MAP_FAILED)
		return err_errno_set(e, "shared memory");
	*out = (struct outcome){0};
	rc = make_places(s, dir, e);
	if (!rc) {
		(void)fflush(NULL);
		if (s->layout == LAYOUT_group)
			start_group(s, b, dir, pids);
		else
			for (int i = 0; i < n; i++)
				pids[i] = start_writer(s, b, dir, i);
		if (all_ready(b, s->processes))
			sample_timeline(r, s, b, dir, out);
		atomic_store(&b->go, true);
		atomic_store(&b->stop, true);
		rc = collect(s, b, dir, wait_for_all(pids, n), out, e);
	}
	munmap(b, sizeof *b);
	bench_dir_remove(r, dir);
	return rc;
}
