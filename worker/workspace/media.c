#include "worker/workspace/media.h"

#include <string.h>
#include <sys/stat.h>

#define BEFORE "): "

static bool is_attachment(const char *path)
{
	struct stat st;

	return !strstr(path, "/..") && lstat(path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

/* The text before the path, "(image/png, 1234 bytes): ". */
static const char *type_before(const char *text, const char *path,
			       struct arena *a)
{
	size_t n = strlen(BEFORE);
	const char *open = path;

	if ((size_t)(path - text) < n || strncmp(path - n, BEFORE, n) != 0)
		return "";
	while (open > text && *open != '(' && *open != '\n')
		open--;
	return *open == '(' ? arena_textn(a, open + 1, strcspn(open + 1, ",)"))
			    : "";
}

bool media_next(const char *home, const char **at, struct arena *a,
		struct media *out)
{
	const char *text = *at, *dir;

	if (!home)
		return false;
	dir = arena_printf(a, "%s/run/media/", home);
	while ((*at = strstr(*at, dir))) {
		size_t n = strcspn(*at, "]\"' \t\r\n");

		out->path = arena_textn(a, *at, n);
		out->type = type_before(text, *at, a);
		*at += n;
		if (is_attachment(out->path))
			return true;
	}
	return false;
}
