#include "schema/home.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is left of the real path below the directory: "", "/…" or NULL. */
static const char *rest_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") ? strlen(dir) : 0;

	if (strncmp(path, dir, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path + n;
}

/* "/agents/NAME/workspace", or below it. */
static bool is_workspace(const char *rest)
{
	static const char agents[] = "/agents/", workspace[] = "/workspace";
	size_t n = sizeof workspace - 1;

	if (strncmp(rest, agents, sizeof agents - 1) != 0)
		return false;
	rest += sizeof agents - 1;
	rest += strcspn(rest, "/");
	return strncmp(rest, workspace, n) == 0 && (!rest[n] || rest[n] == '/');
}

int home_check_lower(const char *root, const char *dir, struct err *e)
{
	char home[PATH_MAX], lower[PATH_MAX];
	const char *rest;

	if (!root || !realpath(root, home) || !realpath(dir, lower))
		return 0; /* opening it reports why */
	if (rest_below(home, lower))
		return err_set(e, ERR_USAGE,
			       "the lower directory %s contains the home of "
			       "skep, which runs must not see; use another "
			       "directory, or another home (SKEP_HOME)",
			       dir);
	rest = rest_below(lower, home);
	if (rest && !is_workspace(rest))
		return err_set(e, ERR_USAGE,
			       "the lower directory %s is in the home of skep, "
			       "which runs must not see; use another directory",
			       dir);
	return 0;
}
