#include "lib/os/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_file *list;
static size_t count, room;

void open_files_add(const struct open_file *h)
{
	pthread_mutex_lock(&lock);
	if (count == room) {
		room = room ? 2 * room : 8;
		list = realloc(list, room * sizeof *list);
		if (!list)
			abort();
	}
	list[count++] = *h;
	pthread_mutex_unlock(&lock);
}

struct open_file open_files_find(const void *owner)
{
	struct open_file found = {0};

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++)
		if (list[i].owner == owner)
			found = list[i];
	pthread_mutex_unlock(&lock);
	return found;
}

void open_files_remove(const struct open_file *h)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++)
		if (list[i].owner == h->owner && list[i].dev == h->dev &&
		    list[i].ino == h->ino) {
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

static bool is_fixed(int dir, const char *path)
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

bool open_files_contain(int dir, const char *path)
{
	static const char end[] = "-shm";
	size_t n = strlen(path), tail = sizeof end - 1;
	char db[PATH_MAX];

	if (is_fixed(dir, path))
		return true;
	if (n <= tail || n >= sizeof db || strcmp(path + n - tail, end) != 0)
		return false;
	snprintf(db, sizeof db, "%.*s", (int)(n - tail), path);
	return is_fixed(dir, db);
}

int open_files_openat(int dir, const char *path, int flags)
{
	if (open_files_contain(dir, path)) {
		errno = EBUSY;
		return -1;
	}
	return openat(dir, path, flags);
}
