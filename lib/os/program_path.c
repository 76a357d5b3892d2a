#include "lib/os/program_path.h"

#include "lib/base/text.h"

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
