/* One process writes for all: clients send it their events; it commits all
 * available events at once and answers each client. */
#include "bench/contention/contention.h"
#include "bench/load/events.h"
#include "lib/base/clock.h"
#include "schema/agent/transcript/writer.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX 8192

void group_client(const struct setting *s, struct shared_stats *b, int me,
		  int fd)
{
	struct event_source *source = calloc(1, sizeof *source);
	struct writer_stats *w = &b->writers[me];
	char answer;

	if (!source)
		abort();
	source->bytes = s->work.bytes;
	while (!atomic_load(&b->go))
		usleep(500);
	while (!atomic_load(&b->stop)) {
		const struct store_event *ev = events_next(source, 1);
		int64_t before = clock_mono_ns();

		if (send(fd, ev->json, ev->n + 1, MSG_NOSIGNAL) < 0 ||
		    recv(fd, &answer, 1, 0) != 1)
			break;
		histogram_add(&w->wait, clock_mono_ns() - before);
		w->events++;
		if (s->work.think_us)
			usleep((useconds_t)s->work.think_us);
	}
	_exit(0);
}

struct group {
	struct agent_file file;
	struct writer writers[WRITERS_MAX];
	struct pollfd fds[WRITERS_MAX];
	bool answered[WRITERS_MAX]; /* committed, to be answered */
	int n;
};

static int open_group(struct group *g, const struct setting *s, const int *fds,
		      const char *dir, struct err *e)
{
	char path[4200];

	snprintf(path, sizeof path, "%s/agent.sqlite", dir);
	if (agent_file_open(&g->file, path, "bench", SQL_CREATE, e) ||
	    (s->pragmas && sql_script(g->file.db, s->pragmas, e)))
		return -1;
	sql_defer_sync(g->file.db, !s->pragmas || !strstr(s->pragmas, "=FULL"));
	g->n = s->processes;
	for (int i = 0; i < g->n; i++) {
		struct id run = id_new(ID_RUN);
		struct writer_run who = {
			.run_id = run.text, .attempt = 1, .epoch = 1};
		char session[64];

		snprintf(session, sizeof session, "writer-%d-0", i);
		if (writer_open(&g->writers[i], &g->file, session, &who, e))
			return -1;
		g->fds[i] = (struct pollfd){fds[i], POLLIN, 0};
	}
	return 0;
}

/* Receives one event from each client that has sent one. */
static int take_events(struct group *g, struct err *e)
{
	static char text[MESSAGE_MAX];
	int taken = 0;

	for (int i = 0; i < g->n; i++) {
		struct event_ref ref;
		struct event_new ev = {
			.type = "message", .body = text, .parent = WRITER_LEAF};

		g->answered[i] = false;
		if (!(g->fds[i].revents & (POLLIN | POLLHUP)))
			continue;
		if (recv(g->fds[i].fd, text, sizeof text, 0) <= 0) {
			g->fds[i].fd = -1; /* disconnected */
			continue;
		}
		if (writer_append(&g->writers[i], &ev, &ref, e))
			return -1;
		g->answered[i] = true;
		taken++;
	}
	return taken;
}

static int alive(const struct group *g)
{
	int n = 0;

	for (int i = 0; i < g->n; i++)
		n += g->fds[i].fd >= 0;
	return n;
}

static int commit_events(struct group *g, struct shared_stats *b, struct err *e)
{
	while (alive(g) > 0) {
		int taken;

		if (poll(g->fds, (nfds_t)g->n, 100) <= 0)
			continue;
		if (sql_enter(g->file.db, e))
			return -1;
		taken = sql_leave(g->file.db, take_events(g, e), e);
		if (taken < 0)
			return -1;
		for (int i = 0; i < g->n; i++)
			if (g->answered[i])
				send(g->fds[i].fd, "k", 1, MSG_NOSIGNAL);
		atomic_fetch_add(&b->events, taken);
		b->commits += taken > 0;
	}
	return 0;
}

void group_writer(const struct setting *s, struct shared_stats *b,
		  const int *fds, const char *dir)
{
	struct group *g = calloc(1, sizeof *g);
	struct err e = {0};

	if (!g)
		abort();
	if (open_group(g, s, fds, dir, &e)) {
		b->writers[0].failed = e;
		_exit(1);
	}
	atomic_fetch_add(&b->ready, s->processes);
	if (commit_events(g, b, &e))
		b->writers[0].failed = e;
	agent_file_close(&g->file);
	_exit(0);
}
