#ifndef WORKER_WORKSPACE_MEDIA_H
#define WORKER_WORKSPACE_MEDIA_H

#include "lib/base/arena.h"

#include <stdbool.h>

/*
 * Attachments lie in skep's home. A prompt names them, as
 *
 *   [attachment cat.png (image/png, 1234 bytes): /home/me/.skep/run/media/…]
 *
 * and comes from anybody: what it names counts only if it is a plain file there.
 */
struct media {
	const char *path;
	const char *type; /* "" where the text does not say */
};

/* The next one that the text names, from *at on; false: there is none. */
bool media_next(const char *home, const char **at, struct arena *a,
		struct media *out);

#endif
