#include "worker/driver/probe.h"

#include "lib/base/text.h"
#include "worker/driver/script.h"
#include "worker/process/child.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int probe_report(const char *step, bool ok, const char *detail)
{
	struct buf b = BUF_MAX(64u << 10);

	json_begin_object(&b);
	json_put_text(&b, "step", step);
	json_put_text(&b, "result", ok ? "ok" : "failed");
	json_put_text(&b, "detail", detail);
	json_end_object(&b);
	printf("%s\n", b.p);
	(void)fflush(stdout);
	buf_fini(&b);
	return ok ? 0 : -1;
}

/* Reads the first line of output, up to the end; returns the status. */
static int read_child(const struct child *c, int fd, char *out, size_t room)
{
	size_t n = 0;
	ssize_t got = 1;
	int status = -1;

	(void)fcntl(fd, F_SETFL, 0); /* it prints little, and exits */
	while (n < room - 1 && got > 0) {
		got = read(fd, out + n, room - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	out[n] = '\0';
	out[strcspn(out, "\r\n")] = '\0';
	(void)waitpid(c->pid, &status, 0);
	return status;
}

/* "/bin/sh -n -c TEXT" for a shell text, else "command -v PROGRAM". */
int probe_exec(const struct exec_config *c, const struct sandbox *sandbox)
{
	static char sh[] = "/bin/sh", parse[] = "-nc", run[] = "-c",
		    find[] = "command -v -- \"$0\"";
	bool shell = c->argv[1] && strcmp(c->argv[0], sh) == 0 &&
		     strcmp(c->argv[1], run) == 0;
	char *parse_argv[] = {sh, parse, shell ? c->argv[2] : NULL, NULL};
	char *find_argv[] = {sh, run, find, c->argv[0], NULL};
	struct child_spec spec = {.argv = shell ? parse_argv : find_argv,
				  .env = c->env,
				  .cwd = c->cwd,
				  .sandbox = sandbox};
	char output[400];
	struct child child;
	struct err e;
	int status;

	if (child_start(&child, &spec, &e))
		return probe_report("command", false, e.text);
	status = read_child(&child, shell ? child.err : child.out, output,
			    sizeof output);
	child_close(&child);
	if (shell)
		return probe_report("command", status == 0,
				    output[0] ? output
					      : "the shell text parses");
	if (status == 0)
		return probe_report("command", true, output);
	text_printf(output, sizeof output,
		    strchr(c->argv[0], '/')
			    ? "%s does not exist in the sandbox, or cannot be "
			      "executed; 'paths' of the agent makes it visible"
			    : "%s is not on the PATH in the sandbox",
		    quoted(c->argv[0]).text);
	return probe_report("command", false, output);
}

int probe_script(const cJSON *config)
{
	const cJSON *steps = cJSON_GetObjectItemCaseSensitive(config, "steps");
	char output[64];
	struct err e;

	if (!steps)
		return probe_report("steps", true,
				    "the prompt contains the steps");
	if (script_check(steps, &e))
		return probe_report("steps", false, e.text);
	text_printf(output, sizeof output, "%d", cJSON_GetArraySize(steps));
	return probe_report("steps", true, output);
}
