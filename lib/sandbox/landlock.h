#ifndef LIB_SANDBOX_LANDLOCK_H
#define LIB_SANDBOX_LANDLOCK_H

#include "lib/base/err.h"
#include "lib/sandbox/homes.h"
#include "lib/sandbox/written.h"

#include <stdbool.h>

/*
 * Which files a process may see and change, as a Landlock ruleset. The kernel
 * denies everything that no rule allows, also to root, permanently, for the
 * process and its descendants.
 */
#define SECRETS_MAX 64 /* of the system (secrets.def), and skep's home */

enum landlock_access {
	LANDLOCK_LIST,
	LANDLOCK_READ,
	LANDLOCK_WRITE,
	LANDLOCK_DEVICE
};

struct landlock {
	int ruleset;
	int abi;
	const char *sealed[KEYS_MAX + SECRETS_MAX]; /* in no rule */
	int nsealed;
	const char *hidden[HOMES_MAX + 4]; /* not in that for the host */
	int nhidden;
	struct written written;
};

/* `alone`: no signals to processes outside, and none of their abstract
 * sockets. */
int landlock_begin(struct landlock *f, bool alone, struct err *e);
void landlock_end(struct landlock *f);

/* Excludes a path from every rule that is added later, or only from the rule
 * for the host; borrowed. */
void landlock_seal(struct landlock *f, const char *path);
void landlock_hide(struct landlock *f, const char *path);

/* Allows a file, or a directory with everything below it. In a directory that
 * contains something hidden, it allows every other existing entry. A missing
 * path is not an error. */
int landlock_allow(struct landlock *f, const char *path,
		   enum landlock_access may, struct err *e);
int landlock_allow_fd(struct landlock *f, int fd, enum landlock_access may,
		      struct err *e);

/* Programs, devices, and the paths of the definition. `covered`: /tmp and
 * /dev/shm are not the host's, so they need not be scanned. */
int landlock_allow_spec(struct landlock *f, const struct sandbox_spec *s,
			bool covered, struct err *e);

/* Applies to this thread and its descendants from now on. System calls only. */
int landlock_enforce(const struct landlock *f);

#endif
