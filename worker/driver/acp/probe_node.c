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

int acp_probe_node(const struct acp_config *c, const struct sandbox *box,
		   int64_t least)
{
	char name[] = "node", flag[] = "--version", said[64], text[256];
	char *argv[] = {name, flag, NULL};
	struct child_spec spec = {.argv = argv,
				  .env = c->exec.env,
				  .cwd = c->exec.cwd,
				  .box = box};
	struct child child;
	struct err e;
	bool good;

	if (least <= 0)
		return 0;
	if (child_start(&child, &spec, &e)) {
		text_printf(text, sizeof text,
			    "node %" PRId64 " or newer is needed: %s", least,
			    e.text);
		return probe_say("node", false, text);
	}
	read_output(&child, said, sizeof said);
	child_close(&child);
	good = said[0] == 'v' && strtol(said + 1, NULL, 10) >= least;
	snprintf(text, sizeof text,
		 good ? "%s"
		      : "this is node %s; %" PRId64 " or newer is needed",
		 said[0] ? said : "of no version", least);
	return probe_say("node", good, text);
}
