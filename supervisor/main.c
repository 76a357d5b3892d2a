/* skepd: the supervisor. skepd [--home DIR] [--version] */
#include "supervisor/daemon.h"

#include "lib/base/log.h"
#include "lib/base/mark.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int usage(FILE *out, int status)
{
	fputs("usage: skepd [--home DIR] [--log FILE] [--check LISTEN]\n"
	      "Hosts the agent runs of one home; `skep up` starts it.\n",
	      out);
	return status;
}

int main(int argc, char **argv)
{
	struct skepd_options o = {0};
	struct err e;
	int rc;

	log_setup("skepd", LOG_LEVEL_INFO, -1);
	mark_open();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--home") && i + 1 < argc)
			o.home = argv[++i];
		else if (!strcmp(argv[i], "--log") && i + 1 < argc)
			o.log = argv[++i];
		else if (!strcmp(argv[i], "--check") && i + 1 < argc)
			o.check = argv[++i];
		else if (!strcmp(argv[i], "--help"))
			return usage(stdout, 0);
		else if (!strcmp(argv[i], "--version")) {
			printf("skepd %s\n", SKEP_VERSION);
			return 0;
		} else
			return usage(stderr, 64);
	}
	rc = o.check ? skepd_check(&o, &e) : skepd_run(&o, &e);
	if (rc > 0) {
		execv("/proc/self/exe", argv);
		rc = err_errno_set(&e, "cannot start again");
	}
	if (rc == 0)
		return 0;
	fprintf(stderr, "skepd: %s\n", e.text);
	return err_exit_status(e.code);
}
