#ifndef VFS_FUSE_PLACEMENT_H
#define VFS_FUSE_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * On which processor a server runs. A request wakes the server, and the reply
 * wakes the client. Between two processors a wake-up takes longer than most
 * requests: an interrupt, and often a processor that has to leave its sleep.
 * While one thread sends one request after the other, it never works at the
 * same time as the server, so the server runs on its processor. When several
 * requests are under way at once, the server runs wherever there is time.
 */
struct placement {
	cpu_set_t all;     /* where the thread may run */
	int cpu;           /* the only one that it uses; -1: all */
	pid_t client;      /* the thread of the last request */
	unsigned requests; /* of that thread, in sequence */
	unsigned check_at; /* the request with which it is located again */
	unsigned interval; /* from then to the next such request */
	unsigned apart;    /* so many more requests are served elsewhere */
	bool unknown;      /* the client's processor, or it cannot be used */
};

void placement_init(struct placement *p); /* of the calling thread */
/* A request was received: of which thread (0: of the kernel itself), and
 * whether others are under way at the same time. */
void placement_request(struct placement *p, pid_t client, bool parallel);
/* The request leaves work that the client does not wait for: after a removal the
 * kernel forgets the node, and its rows are deleted. The client goes on
 * meanwhile, so another processor is better, for this and the next requests. */
void placement_apart(struct placement *p);
/* No request has come for a while. */
void placement_idle(struct placement *p);

#endif
