/* Functions on paths of source files. */
#include "ops/import/importer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *path_below(struct import_run *m)
{
	const char *path = m->file->path, *below = path + strlen(m->root);
	const char *slash = strrchr(path, '/');

	if (*below == '/')
		return below;
	/* the root itself, or below "/" */
	return *below ? below - 1 : slash ? slash : path;
}

bool path_ends(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return n >= k && !strcmp(path + n - k, end);
}

const char *path_stem(struct arena *a, const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dot;

	name = name ? name + 1 : path;
	dot = strrchr(name, '.');
	return arena_textn(a, name,
			   dot && dot > name ? (size_t)(dot - name)
					     : strlen(name));
}

const char *path_dir(struct arena *a, const char *path, int n)
{
	char *copy = arena_text(a, path);

	for (int i = 0; i <= n; i++) {
		char *slash = strrchr(copy, '/');

		if (!slash)
			return "";
		*slash = '\0';
	}
	return copy;
}

const char *path_above(struct arena *a, const char *path, int n)
{
	const char *dir = path_dir(a, path, n);
	const char *slash = strrchr(dir, '/');

	return slash ? slash + 1 : dir;
}
