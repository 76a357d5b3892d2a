#ifndef SUPERVISOR_CORE_AGENT_WORK_H
#define SUPERVISOR_CORE_AGENT_WORK_H

#include <uv.h>

/*
 * Work on agent files, in its own threads. A run can hold the write lock of its
 * agent file for long, so work that may wait for it must not use libuv's thread
 * pool, which all parts of skepd share.
 *
 * The work of one agent is done in order, one at a time, so an agent occupies
 * at most one thread. Two threads are kept. While all threads are busy and none
 * finishes, each tick starts another one, up to a limit; it ends when there is
 * no work.
 */
struct agent_work {
	struct agent_work *next;
	const char *agent; /* borrowed until `done` is called */
	void *data;        /* of the caller */
	/* in a thread; may wait for locks */
	void (*in_thread)(struct agent_work *w);
	void (*done)(struct agent_work *w); /* then, on the loop */
};

struct agent_threads;

struct agent_threads *agent_threads_new(uv_loop_t *loop);
void agent_work_submit(struct agent_threads *p, struct agent_work *w);
void agent_threads_tick(struct agent_threads *p);

/* Call agent_threads_close before the last uv_run of the loop, which returns
 * when all work is done, and agent_threads_free after it. */
void agent_threads_close(struct agent_threads *p);
void agent_threads_free(struct agent_threads *p);

#endif
