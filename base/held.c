#include "base/held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct held {
	dev_t dev;
	ino_t ino;
} * list; /* once for each connection */
static size_t count, room;

void held_add(dev_t dev, ino_t ino)
{
	pthread_mutex_lock(&lock);
	if (count == room) {
		room = room ? 2 * room : 8;
		list = realloc(list, room * sizeof *list);
		if (!list)
			abort();
	}
	list[count++] = (struct held){dev, ino};
	pthread_mutex_unlock(&lock);
}

void held_remove(dev_t dev, ino_t ino)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++)
		if (list[i].dev == dev && list[i].ino == ino) {
			list[i] = list[--count];
			break;
		}
	if (count == 0) {
		free(list);
		list = NULL;
		room = 0;
	}
	pthread_mutex_unlock(&lock);
}

static bool is_held(int dir, const char *path)
{
	struct stat st;
	bool found = false;

	if (fstatat(dir, path, &st, 0))
		return false;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count && !found; i++)
		found = list[i].dev == st.st_dev && list[i].ino == st.st_ino;
	pthread_mutex_unlock(&lock);
	return found;
}

bool held_refuses(int dir, const char *path)
{
	static const char end[] = "-shm";
	size_t n = strlen(path), tail = sizeof end - 1;
	char db[PATH_MAX];

	if (is_held(dir, path))
		return true;
	if (n <= tail || n >= sizeof db || strcmp(path + n - tail, end) != 0)
		return false;
	snprintf(db, sizeof db, "%.*s", (int)(n - tail), path);
	return is_held(dir, db);
}

int held_open(int dir, const char *path, int flags)
{
	if (held_refuses(dir, path)) {
		errno = EBUSY;
		return -1;
	}
	return openat(dir, path, flags);
}
