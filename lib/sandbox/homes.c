#include "lib/sandbox/homes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const keys[] = {
#define HIDDEN(name) name,
#include "lib/sandbox/hidden.def"
#undef HIDDEN
};

#define NKEYS (sizeof keys / sizeof *keys)
_Static_assert(NKEYS <= KEYS_MAX, "room for lib/sandbox/hidden.def");

bool path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static bool contains_real(const struct homes *h, const char *path)
{
	for (int i = 0; i < h->n; i++)
		if (path_is_below(path, h->dir[i]))
			return true;
	return false;
}

bool homes_contain(const struct homes *h, const char *path)
{
	if (contains_real(h, path))
		return true;
	for (int i = 0; i < h->nlinks; i++)
		if (path_is_below(path, h->links[i].name))
			return true;
	return false;
}

const char *homes_real(const struct homes *h, const char *path, struct arena *a)
{
	for (int i = h->nlinks - 1; path && i >= 0; i--)
		if (path_is_below(path, h->links[i].name))
			return arena_printf(a, "%s%s", h->links[i].real,
					    path + strlen(h->links[i].name));
	return path;
}

/* By its real name, also if it does not exist. */
static const char *add_home(struct homes *h, const char *path)
{
	char *real = h->links[h->nlinks].real;

	if (!realpath(path, real) || strcmp(real, path) == 0 || !real[1])
		real = NULL; /* / cannot be covered */
	else
		h->links[h->nlinks++].name = path;
	if (!contains_real(h, real ? real : path))
		h->dir[h->n++] = real ? real : path;
	return real ? real : path;
}

/* The home of a service user may be / or a directory of programs. */
static bool is_personal(const char *home)
{
	static const char *const others[] = {
#define PROGRAMS(path) path,
#include "lib/sandbox/programs.def"
#undef PROGRAMS
	};

	if (!home || home[0] != '/' || !home[1])
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (path_is_below(home, others[i]) ||
		    path_is_below(others[i], home))
			return false;
	return true;
}

void homes_list(struct homes *h, const char *home)
{
	h->n = h->nkeys = h->ntops = h->nlinks = 0; /* the rest is large */
	(void)add_home(h, "/home");
	(void)add_home(h, "/root");
	if (!home || home[0] != '/' || strlen(home) >= PATH_MAX)
		return; /* no process can open a longer path */
	if (is_personal(home))
		home = add_home(h, home);
	for (size_t i = 0; i < NKEYS; i++)
		snprintf(h->key[h->nkeys++], sizeof h->key[0], "%s/%s", home,
			 keys[i]);
}

/* These have covers of their own. */
static bool is_covered(const struct homes *h, const char *path)
{
	return strcmp(path, "/tmp") == 0 || strcmp(path, "/dev") == 0 ||
	       homes_contain(h, path);
}

void homes_add_rest(struct homes *h)
{
	DIR *d = opendir("/");
	const struct dirent *at;
	struct stat st;

	while (d && h->ntops < TOPS_MAX && (at = readdir(d))) {
		char *top = h->top[h->ntops];

		if (snprintf(top, sizeof h->top[0], "/%s", at->d_name) >=
			    (int)sizeof h->top[0] ||
		    strcmp(top, "/.") == 0 || strcmp(top, "/..") == 0 ||
		    lstat(top, &st) || !S_ISDIR(st.st_mode) ||
		    !is_personal(top) || is_covered(h, top))
			continue;
		h->dir[h->n++] = top;
		h->ntops++;
	}
	if (d)
		closedir(d);
}
