#include "lib/os/program_path.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_ROOM 64

struct program_path program_path(const char *name)
{
	struct program_path p;
	ssize_t n = readlink("/proc/self/exe", p.text,
			     sizeof p.text - NAME_ROOM);

	while (n > 0 && p.text[n - 1] != '/')
		n--;
	if (n < 0)
		n = 0; /* without /proc: as found in PATH */
	text_fit(p.text + n, sizeof p.text - (size_t)n, name);
	return p;
}

bool program_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

bool program_in_path(const char *name, const char *list)
{
	const char *at = list ? list : getenv("PATH");
	char path[PATH_MAX];

	for (; at && *at; at += *at == ':') {
		size_t n = strcspn(at, ":");
		int len = snprintf(path, sizeof path, "%.*s/%s", (int)n, at,
				   name);

		if (n && len > 0 && len < PATH_MAX && program_is_file(path))
			return true;
		at += n;
	}
	return false;
}
