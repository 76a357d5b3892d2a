#include "worker/process/child.h"

#include "lib/os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum step { STEP_NS, STEP_CWD, STEP_BOX, STEP_EXEC, STEP_OTHER };

/* The report of a child that could not execute the command, through a pipe that
 * exec closes. */
struct failure {
	enum step step;
	int sys;
};

static const char *path_of(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* 1: an executable file; 0: none; -1: a file that is not executable. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? -1 : 0;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 1 : -1;
}

static int not_executable(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, ERR_DENIED, "%s is not a file", path);
	return err_set(e, ERR_DENIED,
		       "%s is not executable; use chmod +x, or name "
		       "its interpreter",
		       path);
}

/* Finds a command as a shell does, and reports what it found. */
static int find_command(const struct child_spec *spec, char out[PATH_MAX],
			struct err *e)
{
	const char *name = spec->argv[0], *path = path_of(spec->env);
	char seen[PATH_MAX] = "";
	int found = 0;

	if (strchr(name, '/') && spec->ns) { /* not visible to us */
		snprintf(out, PATH_MAX, "%s", name);
		return 0;
	}
	if (strchr(name, '/')) {
		snprintf(out, PATH_MAX, "%s%s%s",
			 name[0] == '/' ? "" : spec->cwd,
			 name[0] == '/' ? "" : "/", name);
		found = check_executable(out);
		path = "";
	}
	while (found == 0 && *path) {
		size_t n = strcspn(path, ":");

		snprintf(out, PATH_MAX, "%.*s/%s", (int)n, path, name);
		found = check_executable(out);
		if (found < 0 && !seen[0])
			snprintf(seen, sizeof seen, "%s", out);
		if (found < 0)
			found = 0;
		path += n + (path[n] == ':');
	}
	if (found > 0)
		return 0;
	if (found < 0 || seen[0])
		return not_executable(seen[0] ? seen : out, e);
	return err_set(e, ERR_NOTFOUND, "command %s not found (PATH is %s)",
		       name, path_of(spec->env));
}

static bool enter_directory(const struct child_spec *spec)
{
	const struct child_ns *ns = spec->ns;

	if (spec->sandbox && spec->sandbox->namespaces.mnt >= 0)
		return sandbox_enter_namespaces(spec->sandbox) == 0;
	return !ns ||
	       ((ns->user < 0 || setns(ns->user, CLONE_NEWUSER) == 0) &&
		(ns->mnt < 0 || setns(ns->mnt, CLONE_NEWNS) == 0) &&
		(ns->root < 0 || (fchdir(ns->root) == 0 && chroot(".") == 0)));
}

static void exec_program(const struct child_spec *spec, const char *path,
			 struct failure *f)
{
	if (spec->sandbox && sandbox_enforce(spec->sandbox))
		return;
	f->step = STEP_EXEC;
	(void)execve(path, spec->argv, spec->env);
}

/* Data for the child, prepared before the fork. */
struct birth {
	const struct child_spec *spec;
	const char *path;
	int ends[3], report_fd;
	pid_t parent;
};

/* In a PID namespace the parent's pid is not visible, and init dies with it. */
static bool is_orphan(const struct birth *b)
{
	pid_t parent = getppid();

	return parent && parent != b->parent;
}

/* In the child, beside a thread that may hold any lock: system calls only. */
static void become(void *arg)
{
	const struct birth *b = arg;
	const struct child_spec *spec = b->spec;
	const int *ends = b->ends;
	struct failure f = {.step = STEP_OTHER};
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (is_orphan(b))
		_exit(127);
	if (!spec->sandbox) /* otherwise sandbox_start has done it */
		proc_oom_score(PROC_OOM_COMMAND);
	sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(ends[0], 0) == 0 && dup2(ends[1], 1) == 1 &&
	    dup2(ends[2], 2) == 2) {
		f.step = STEP_NS;
		if (enter_directory(spec)) {
			f.step = STEP_CWD;
			if (chdir(spec->cwd) == 0) {
				f.step = STEP_BOX;
				exec_program(spec, b->path, &f);
			}
		}
	}
	f.sys = errno;
	(void)!write(b->report_fd, &f, sizeof f);
	_exit(127);
}

static int explain(const struct failure *f, const struct child_spec *spec,
		   const char *path, struct err *e)
{
	errno = f->sys;
	if (f->step == STEP_NS)
		return err_set(e, ERR_INVALID,
			       "cannot enter the namespace of the "
			       "workspace: %s",
			       strerror(f->sys));
	if (f->step == STEP_CWD)
		return err_set(e, ERR_INVALID, "directory %s: %s", spec->cwd,
			       strerror(f->sys));
	if (f->step == STEP_BOX)
		return err_set(e, ERR_UNSUPPORTED, "the sandbox: %s",
			       strerror(f->sys));
	if (f->step == STEP_EXEC && f->sys == ENOENT && spec->sandbox)
		return err_set(e, ERR_NOTFOUND,
			       "%s or its interpreter does not exist in the "
			       "sandbox (which has its own /tmp and hides "
			       "the home of skep)",
			       path);
	if (f->step == STEP_EXEC && f->sys == ENOENT)
		return err_set(
			e, ERR_NOTFOUND,
			spec->ns
				? "command %s not found, or its interpreter is "
				  "missing"
				: "%s cannot start: its interpreter is "
				  "missing",
			path);
	if (f->step == STEP_EXEC && f->sys == ENOEXEC)
		return err_set(e, ERR_DENIED,
			       "%s is neither a program nor a script with #!",
			       path);
	if (f->step == STEP_EXEC && f->sys == E2BIG)
		return err_set(e, ERR_INVALID,
			       "the arguments and the environment are too "
			       "long");
	return err_errno_set(e, "%s", path);
}

struct pipes {
	int fd[4][2]; /* in, out, err, and the pipe for the report */
};

static void close_all(struct pipes *p)
{
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 2; k++) {
			if (p->fd[i][k] >= 0)
				close(p->fd[i][k]);
			p->fd[i][k] = -1;
		}
	}
}

static int open_all(struct pipes *p, struct err *e)
{
	memset(p, -1, sizeof *p);
	for (int i = 0; i < 4; i++) {
		if (pipe2(p->fd[i], O_CLOEXEC)) {
			close_all(p);
			return err_errno_set(e, "pipe");
		}
	}
	return 0;
}

static int reap_child(struct pipes *p, int i, int k)
{
	int fd = p->fd[i][k];

	p->fd[i][k] = -1;
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int start_child(struct child *c, const struct child_spec *spec,
		       const char *path, struct pipes *p, struct err *e)
{
	struct birth b = {.spec = spec,
			  .path = path,
			  .ends = {p->fd[0][0], p->fd[1][1], p->fd[2][1]},
			  .report_fd = p->fd[3][1],
			  .parent = getpid()};
	struct failure f;
	pid_t pid = sandbox_start(spec->sandbox, become, &b);
	ssize_t n;

	if (pid < 0)
		return err_errno_set(e, "fork");
	close(p->fd[3][1]);
	p->fd[3][1] = -1;
	do
		n = read(p->fd[3][0], &f, sizeof f);
	while (n < 0 && errno == EINTR);
	if (n == sizeof f)
		return explain(&f, spec, path, e);
	*c = (struct child){.pid = pid,
			    .in = reap_child(p, 0, 1),
			    .out = reap_child(p, 1, 0),
			    .err = reap_child(p, 2, 0)};
	return 0;
}

int child_start(struct child *c, const struct child_spec *spec, struct err *e)
{
	char path[PATH_MAX];
	struct pipes p;
	int rc;

	*c = (struct child){.in = -1, .out = -1, .err = -1};
	if (find_command(spec, path, e) || open_all(&p, e))
		return -1;
	rc = start_child(c, spec, path, &p, e);
	close_all(&p);
	return rc;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void child_close(struct child *c)
{
	shut(&c->in);
	shut(&c->out);
	shut(&c->err);
}
