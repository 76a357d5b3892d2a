#ifndef SANDBOX_SPACE_H
#define SANDBOX_SPACE_H

#include "base/err.h"
#include "sandbox/spec.h"

#include <sys/types.h>

/*
 * The namespaces that the commands of a run live in: what is hidden is covered
 * by an empty directory, /tmp and /dev/shm are their own, and the network is as
 * much as was asked for. They are made by a process that ends as soon as
 * somebody else holds them.
 */
#define SPACE_KEPT (SANDBOX_PATHS * 3 + 4)

struct space_plan {
	int user, mnt, root;          /* entered first, -1: ours */
	const char *hidden;           /* skep's home, or NULL */
	const char *kept[SPACE_KEPT]; /* seen even below what is covered */
	int nkept;
	int nwritten; /* the first ones of them; the others are only read */
	enum sandbox_network network;
	int64_t tmp; /* bytes */
};

/* Descriptors for setns; -1: not needed. */
struct space {
	int user, mnt, net, root;
	int tmp, shm; /* O_PATH, for rules about them */
};

/* ERR_UNSUPPORTED where the machine has no namespaces for us. */
int space_make(struct space *s, const struct space_plan *p, struct err *e);
void space_drop(struct space *s);

/* In a process that ends then: can namespaces be made at all? */
int space_try(void);

#endif
