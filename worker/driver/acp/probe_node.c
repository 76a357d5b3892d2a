#include "lib/base/text.h"
#include "worker/driver/acp/probe.h"
#include "worker/process/child.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads its output, up to its end. */
static void read_output(const struct child *c, char *out, size_t room)
{
	size_t n = 0;
	ssize_t got = 1;

	(void)fcntl(c->out, F_SETFL, 0); /* it prints little, and exits */
	while (n < room - 1 && got > 0) {
		got = read(c->out, out + n, room - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	out[n] = '\0';
	out[strcspn(out, "\r\n")] = '\0';
	(void)waitpid(c->pid, NULL, 0);
}

int acp_probe_node(const struct acp_config *c, const struct sandbox *sandbox,
		   int64_t least)
{
	char name[] = "node", flag[] = "--version", output[64], text[256];
	char *argv[] = {name, flag, NULL};
	struct child_spec spec = {.argv = argv,
				  .env = c->exec.env,
				  .cwd = c->exec.cwd,
				  .sandbox = sandbox};
	struct child child;
	struct err e;
	bool good;

	if (least <= 0)
		return 0;
	if (child_start(&child, &spec, &e)) {
		text_printf(text, sizeof text,
			    "node %" PRId64 " or newer is needed: %s", least,
			    e.text);
		return probe_report("node", false, text);
	}
	read_output(&child, output, sizeof output);
	child_close(&child);
	good = output[0] == 'v' && strtol(output + 1, NULL, 10) >= least;
	snprintf(text, sizeof text,
		 good ? "%s"
		      : "this is node %s; %" PRId64 " or newer is needed",
		 output[0] ? output : "of no version", least);
	return probe_report("node", good, text);
}
