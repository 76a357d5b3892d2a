#ifndef LIB_SANDBOX_LANDLOCK_H
#define LIB_SANDBOX_LANDLOCK_H

#include "lib/base/err.h"
#include "lib/sandbox/homes.h"
#include "lib/sandbox/spec.h"

#include <stdbool.h>

/*
 * Which files a process may see and change, as a Landlock ruleset. What no rule
 * allows is refused by the kernel, also to root, and for good: for the process,
 * and everything that it starts.
 */
#define SECRETS_MAX 32 /* of the system (secrets.def), and skep's home */

enum landlock_access {
	LANDLOCK_LIST,
	LANDLOCK_READ,
	LANDLOCK_WRITE,
	LANDLOCK_DEVICE
};

struct landlock {
	int ruleset;
	int abi;
	const char *sealed[KEYS_MAX + SECRETS_MAX]; /* not by any rule above */
	int nsealed;
	const char *hidden[HOMES_MAX + 4]; /* nor by that for the whole host */
	int nhidden;
};

/* `alone`: no signals to, and no abstract sockets of, processes outside. */
int landlock_begin(struct landlock *f, bool alone, struct err *e);
void landlock_end(struct landlock *f);

/* Takes a path out of every rule that is added later, or only out of that for
 * the host; borrowed. */
void landlock_seal(struct landlock *f, const char *path);
void landlock_hide(struct landlock *f, const char *path);

/* Allows a file, or a directory with all below it; of a directory that holds
 * something hidden everything else that is in it now. A path that is not there
 * is no error. */
int landlock_allow(struct landlock *f, const char *path,
		   enum landlock_access may, struct err *e);
int landlock_allow_fd(struct landlock *f, int fd, enum landlock_access may,
		      struct err *e);

/* Programs, devices, and what the definition says. `covered`: /tmp and /dev/shm
 * are not the host's, so nobody has to look through those. */
int landlock_allow_spec(struct landlock *f, const struct sandbox_spec *s,
			bool covered, struct err *e);

/* From now on this thread, and what it starts. System calls only. */
int landlock_enforce(const struct landlock *f);

#endif
