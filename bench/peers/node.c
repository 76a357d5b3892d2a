#include "bench/peers/node.h"
#include "bench/harness.h"
#include "lib/os/file.h"

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
				  const char *const *args, int in, int out)
{
	char *argv[ARGS_MAX + 4] = {0};
	size_t n = 0;

	argv[n++] = strdup("node");
	argv[n++] = strdup("-e");
	argv[n++] = strndup((const char *)s->text, s->n);
	for (size_t i = 0; args[i] && i < ARGS_MAX; i++)
		argv[n++] = strdup(args[i]);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if ((in < 0 || dup2(in, 0) == 0) && dup2(out, 1) == 1 &&
	    setenv("NODE_PATH", node_modules(), 1) == 0)
		(void)execvp("node", argv);
	_exit(127);
}

static int need(const char *package, struct err *e)
{
	if (node_has(package))
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
		       "node or %s is not here (see skep-bench peers)",
		       package);
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

	if (need(s->package, e))
		return -1;
	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "pipe");
	pid = fork();
	if (pid == 0)
		become_node(s, args, -1, ends[1]);
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

int node_open(struct node_request *t, const struct node_script *s,
	      const char *const *args, struct err *e)
{
	int to[2], from[2];

	if (need(s->package, e))
		return -1;
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return err_errno_set(e, "pipe");
	(void)signal(SIGPIPE, SIG_IGN);
	t->pid = fork();
	if (t->pid == 0)
		become_node(s, args, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	t->to = fdopen(to[1], "w");
	t->from = fdopen(from[0], "r");
	if (!t->to || !t->from)
		abort();
	if (t->pid > 0)
		return 0;
	err_errno_set(e, "fork");
	node_close(t);
	return -1;
}

void node_close(struct node_request *t)
{
	(void)fclose(t->to);
	(void)fclose(t->from);
	while (t->pid > 0 && waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static _Noreturn void become_npm(const char *prefix, const char *package)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
		(void)execlp("timeout", "timeout", "120", "npm", "install",
			     "--prefix", prefix, package, (char *)NULL);
	_exit(127);
}

int node_fetch(const char *package, struct err *e)
{
	static const char end[] = "/node_modules";
	const char *to = node_modules();
	size_t n = strlen(to);
	char prefix[4096];
	pid_t pid;

	if (node_has(package))
		return 0;
	if (!peer_on_path("npm") || n < sizeof end ||
	    strcmp(to + n - (sizeof end - 1), end) != 0)
		return need(package, e);
	snprintf(prefix, sizeof prefix, "%.*s", (int)(n - sizeof end + 1), to);
	if (file_make_dir(prefix, 0755, e))
		return -1;
	pid = fork();
	if (pid == 0)
		become_npm(prefix, package);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return node_has(package)
		       ? 0
		       : err_set(e, ERR_UNSUPPORTED,
				 "npm cannot bring %s to %s", package, to);
}
