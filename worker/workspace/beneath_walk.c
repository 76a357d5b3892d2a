#include "worker/workspace/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 128
#define NAMES_MAX 100000 /* in one directory */

/* A directory of the current path: its names, sorted, and the position. */
struct level {
	struct dirent **names;
	int n, at;
	size_t path; /* length of its path */
};

struct walk {
	int start;
	char path[PATH_MAX];
	struct level levels[DEPTH_MAX];
	int depth; /* levels in use */
};

static int is_name(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* An unreadable directory is treated as empty: it is listed, and the walk
 * continues. */
static void enter_directory(struct walk *w)
{
	struct beneath start = {.fd = w->start, .dir = ""};
	struct level *l = &w->levels[w->depth++];
	struct err ignored;
	int fd = beneath_open(&start, w->path[0] ? w->path : ".",
			      O_RDONLY | O_DIRECTORY, 0, &ignored);
	char self[64];

	*l = (struct level){.path = strlen(w->path)};
	if (fd < 0)
		return;
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	l->n = scandir(self, &l->names, is_name, by_name);
	close(fd);
	if (l->n < 0)
		l->n = 0;
}

static void leave(struct walk *w)
{
	struct level *l = &w->levels[--w->depth];

	for (int i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
}

static void stat_item(const struct walk *w, struct beneath_item *item)
{
	struct stat st;

	if (fstatat(w->start, w->path, &st, AT_SYMLINK_NOFOLLOW))
		return; /* deleted meanwhile */
	item->is_dir = S_ISDIR(st.st_mode);
	item->is_file = S_ISREG(st.st_mode);
}

/* The next name of the innermost directory, or the end of that directory. */
static int next_item(struct walk *w, beneath_fn *fn, void *arg, struct err *e)
{
	struct level *l = &w->levels[w->depth - 1];
	struct beneath_item item = {.path = w->path, .depth = w->depth - 1};
	const char *name;
	int rc;

	if (l->at == l->n || l->at == NAMES_MAX) {
		w->path[l->path] = '\0';
		leave(w);
		item.depth = w->depth - 1;
		item.is_dir = item.leaving = true;
		item.name = strrchr(w->path, '/');
		item.name = item.name ? item.name + 1 : w->path;
		return w->depth > 0 ? fn(arg, &item, e) < 0 ? -1 : 0 : 0;
	}
	item.first = l->at == 0;
	name = l->names[l->at++]->d_name;
	w->path[l->path] = '\0';
	rc = snprintf(w->path + l->path, sizeof w->path - l->path, "%s%s",
		      l->path ? "/" : "", name);
	if (rc < 0 || (size_t)rc >= sizeof w->path - l->path)
		return 0;
	item.name = name;
	stat_item(w, &item);
	rc = fn(arg, &item, e);
	if (rc == 0 && item.is_dir && w->depth < DEPTH_MAX)
		enter_directory(w);
	return rc < 0 ? -1 : 0;
}

int beneath_walk(const struct beneath *b, const char *start, beneath_fn *fn,
		 void *arg, struct err *e)
{
	struct walk *w;
	int fd = beneath_open(b, start, O_RDONLY | O_DIRECTORY, 0, e), rc = 0;

	if (fd < 0)
		return -1;
	w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->start = fd;
	enter_directory(w);
	while (w->depth > 0 && rc == 0)
		rc = next_item(w, fn, arg, e);
	while (w->depth > 0)
		leave(w);
	free(w);
	close(fd);
	return rc;
}

static int remove_item(void *arg, const struct beneath_item *item,
		       struct err *e)
{
	const struct beneath *b = arg;

	(void)e;
	if (!item->is_dir)
		(void)unlinkat(b->fd, item->path, 0);
	else if (item->leaving)
		(void)unlinkat(b->fd, item->path, AT_REMOVEDIR);
	return 0;
}

void beneath_empty(const struct beneath *b)
{
	struct beneath copy = *b;
	struct err ignored;

	(void)beneath_walk(b, ".", remove_item, &copy, &ignored);
}
