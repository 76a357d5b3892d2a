#ifndef WORKER_WORKSPACE_MEDIA_H
#define WORKER_WORKSPACE_MEDIA_H

#include "lib/base/arena.h"

#include <stdbool.h>

/*
 * Attachments are files in skep's home. A prompt names them as
 *
 *   [attachment cat.png (image/png, 1234 bytes): /home/me/.skep/run/media/…]
 *
 * A prompt may come from any sender: a path counts only if it is a regular file
 * there.
 */
struct media {
	const char *path;
	const char *type; /* "" if the text does not contain it */
};

/* The next attachment in the text, from *at on; false: none. */
bool media_next(const char *home, const char **at, struct arena *a,
		struct media *out);

#endif
