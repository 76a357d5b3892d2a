#include "lib/base/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef SKEP_FAULTS

static const char *const names[FAULT_COUNT] = {

#define FAULT(name, where) [FAULT_##name] = #name,
#include "lib/base/fault.def"
#undef FAULT
};

struct plan {
	char prog[32];
	char name[64];
	char action[32];
	int nth;
};

/* [PROG/]NAME:ACTION[:NTH] */
static int read_plan(struct plan *p)
{
	const char *text = getenv("SKEP_FAULT");
	const char *slash;

	if (!text)
		return -1;
	*p = (struct plan){.nth = 1};
	slash = strchr(text, '/');
	if (slash && (size_t)(slash - text) < sizeof p->prog) {
		memcpy(p->prog, text, (size_t)(slash - text));
		text = slash + 1;
	}
	return sscanf(text, "%63[^:]:%31[^:]:%d", p->name, p->action,
		      &p->nth) >= 2
		       ? 0
		       : -1;
}

static int act(const struct plan *p, struct err *e)
{
	if (!strcmp(p->action, "kill")) {
		kill(getpid(), SIGKILL);
		pause();
	}
	if (!strncmp(p->action, "stall", 5)) {
		long ms = strtol(p->action + 5, NULL, 10);
		struct timespec t = {ms / 1000, ms % 1000 * 1000000};

		if (ms == 0)
			for (;;)
				pause();
		while (nanosleep(&t, &t) && errno == EINTR)
			;
		return 0;
	}
	return err_set(e, ERR_IO, "fault injected at %s", p->name);
}

int fault_point(enum fault f, struct err *e)
{
	static int seen[FAULT_COUNT];
	struct plan p;

	if (read_plan(&p) || strcmp(p.name, names[f]) != 0)
		return 0;
	if (p.prog[0] && strcmp(p.prog, program_invocation_short_name) != 0)
		return 0;
	return ++seen[f] == p.nth ? act(&p, e) : 0;
}

#endif
