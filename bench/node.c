#include "bench/node.h"
#include "bench/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 16

const char *node_modules(void)
{
	static char path[4096];
	const char *set = getenv("SKEP_BENCH_NODE_MODULES");
	const char *home = getenv("HOME");

	if (set && *set)
		snprintf(path, sizeof path, "%s", set);
	else if (home && *home)
		snprintf(path, sizeof path, "%s/.cache/skep-bench/node_modules",
			 home);
	return path;
}

bool node_has(const char *package)
{
	char path[4608];

	snprintf(path, sizeof path, "%s/%s/package.json", node_modules(),
		 package);
	return peer_on_path("node") && access(path, R_OK) == 0;
}

static _Noreturn void become_node(const struct node_script *s,
				  const char *const *args, int out)
{
	char *argv[ARGS_MAX + 4] = {0};
	size_t n = 0;

	argv[n++] = strdup("node");
	argv[n++] = strdup("-e");
	argv[n++] = strndup((const char *)s->text, s->n);
	for (size_t i = 0; args[i] && i < ARGS_MAX; i++)
		argv[n++] = strdup(args[i]);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(out, 1) == 1 && setenv("NODE_PATH", node_modules(), 1) == 0)
		(void)execvp("node", argv);
	_exit(127);
}

static int collect(int fd, struct buf *out, struct err *e)
{
	for (;;) {
		char *room = buf_room(out, 65536);
		ssize_t n;

		if (!room)
			return buf_ok(out, "node", e);
		n = read(fd, room, 65536);
		if (n > 0)
			buf_grew(out, (size_t)n);
		else if (n == 0)
			return 0;
		else if (errno != EINTR)
			return err_errno_set(e, "node");
	}
}

int node_run(const struct node_script *s, const char *const *args,
	     struct buf *out, struct err *e)
{
	int ends[2], status, rc;
	pid_t pid;

	if (!node_has(s->package))
		return err_set(e, ERR_UNSUPPORTED,
			       "node or %s is not here (see skep-bench peers)",
			       s->package);
	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "pipe");
	pid = fork();
	if (pid == 0)
		become_node(s, args, ends[1]);
	close(ends[1]);
	rc = pid < 0 ? err_errno_set(e, "fork") : collect(ends[0], out, e);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc)
		return -1;
	if (WIFSIGNALED(status))
		return err_set(e, ERR_FAILED, "%s: node was ended by signal %d",
			       s->package, WTERMSIG(status));
	return WEXITSTATUS(status) == 0
		       ? 0
		       : err_set(e, ERR_FAILED, "%s: node ended with code %d",
				 s->package, WEXITSTATUS(status));
}
