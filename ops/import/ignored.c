#include "ops/import/ignored.h"

#include <fnmatch.h>
#include <stddef.h>

struct store {
	const char *pattern, *why;
};

static const struct store files[] = {
#define IGNORED_FILE(pattern, why) {pattern, why},
#define IGNORED_TABLE(pattern, why)
#include "ops/import/ignored.def"
#undef IGNORED_FILE
#undef IGNORED_TABLE
};

static const struct store tables[] = {
#define IGNORED_FILE(pattern, why)
#define IGNORED_TABLE(pattern, why) {pattern, why},
#include "ops/import/ignored.def"
#undef IGNORED_FILE
#undef IGNORED_TABLE
};

static const char *find_store(const struct store *s, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(s[i].pattern, name, 0) == 0)
			return s[i].why;
	return NULL;
}

const char *ignored_file_reason(const char *path)
{
	return find_store(files, sizeof files / sizeof files[0], path);
}

const char *ignored_table_reason(const char *name)
{
	return find_store(tables, sizeof tables / sizeof tables[0], name);
}
