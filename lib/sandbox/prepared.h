#ifndef LIB_SANDBOX_PREPARED_H
#define LIB_SANDBOX_PREPARED_H

#include <stdbool.h>

/*
 * Namespaces that are the same for every run: a network with only a loopback
 * interface, IPC and, without root, a user namespace that owns both. A
 * preforked worker creates them before it has a run, since a network namespace
 * takes a millisecond, and longer while another one is torn down.
 */
struct ready {
	int user, net, ipc; /* descriptors for setns; -1: none */
};

#define READY_NONE                               \
	{                                        \
		.user = -1, .net = -1, .ipc = -1 \
	}

/* False: none; namespaces_make creates them. */
bool ready_make(struct ready *out);
void ready_close(struct ready *r);

/* For the process that makes namespaces; system calls only. */
bool ready_map_ids(unsigned uid, unsigned gid);
bool ready_loopback_up(void);

#endif
