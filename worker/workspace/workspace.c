#include "worker/workspace/workspace.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/json/json.h"
#include "lib/os/process_tree.h"
#include "lib/os/program_path.h"
#include "schema/agent/transcript/session.h"
#include "worker/process/confine.h"
#include "worker/process/disk_limit.h"
#include "worker/workspace/bootstrap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS 1000000
#define READY_MS  10000
#define END_MS    5000 /* for the last commit of the mount */
#define SERVER    "skep-worker"

/* In the directory of this program: the spawner forks workers without exec. */
int workspace_program(char out[PATH_MAX], struct err *e)
{
	struct program_path p = program_path(SERVER);

	(void)e;
	memcpy(out, p.text, sizeof p.text);
	return 0;
}

const char *workspace_namespace(const struct run *r)
{
	return r->start->namespace ? r->start->namespace : "main";
}

SHAPE_DEFINE(files_plan, FILES_PLAN);

static int64_t budget(const struct run *r)
{
	return r->sandbox_spec.mode == SANDBOX_OFF
		       ? 0
		       : r->sandbox_spec.limits.disk;
}

static struct files_plan make_plan(const struct run *r)
{
	const struct msg_start *s = r->start;

	return (struct files_plan){
		.name = workspace_namespace(r),
		.make = s->namespace_make ? s->namespace_make : "missing",
		.base = s->workspace,
		.fork_of = s->fork_of,
		.fork_agent = s->fork_agent,
		.fork_db = s->fork_db,
		.home = s->home,
		.run = s->run,
		.ephemeral = s->is_ephemeral == 1,
		.shared = s->is_shared == 1,
		.max = budget(r),
	};
}

static int check_plan(const struct run *r, const struct files_plan *p,
		      struct err *e)
{
	bool over = strcmp(r->start->workspace_mode, "vfs-scratch") == 0;

	return over && !p->base ? err_set(e, ERR_UNSUPPORTED,
					  "vfs-scratch needs a lower directory")
				: 0;
}

/* In a build with fault points, the server has them too; or NULL. */
static char *fault_environment(struct arena *a)
{
#ifdef SKEP_FAULTS
	const char *plan = getenv("SKEP_FAULT");

	return plan ? arena_printf(a, "SKEP_FAULT=%s", plan) : NULL;
#else
	(void)a;
	return NULL;
#endif
}

static int start_server(struct workspace *w, struct err *e)
{
	const struct msg_start *s = w->run->start;
	struct files_plan plan = make_plan(w->run);
	struct arena *a = &w->run->arena;
	struct buf text = BUF_MAX(65536);
	char path[PATH_MAX];
	char *env[] = {fault_environment(a), NULL}, *argv[6] = {0};
	struct child_spec spec = {.argv = argv, .env = env, .cwd = "/"};
	int rc;

	if (check_plan(w->run, &plan, e) || workspace_program(path, e))
		return -1;
	json_add_shape(&text, &files_plan_shape, &plan);
	argv[0] = path;
	argv[1] = arena_text(a, "--mount");
	argv[2] = arena_text(a, s->agent_db);
	argv[3] = arena_text(a, s->agent);
	argv[4] = arena_text(a, text.p);
	rc = buf_ok(&text, "the workspace", e)
		     ? -1
		     : child_start(&w->mount, &spec, e);
	buf_fini(&text);
	if (rc)
		return -1;
	tree_exempt(w->mount.pid);
	return 0;
}

/* "ready", or an error. */
static int check_answer(const char *answer, struct err *e)
{
	if (strcmp(answer, "ready\n") == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "%.*s", (int)strcspn(answer, "\n"),
		       answer);
}

/* Whether it reported that it copies contents, which may take long. */
static bool drop_progress(char *answer, size_t *n)
{
	size_t busy = strspn(answer, (char[]){WORKSPACE_BUSY, '\0'});

	*n -= busy;
	memmove(answer, answer + busy, *n + 1);
	return busy > 0;
}

static int await_ready(struct workspace *w, struct err *e)
{
	int64_t until = clock_mono_ns() + (int64_t)READY_MS * NS_PER_MS;
	char answer[512] = "";
	size_t n = 0;

	while (!strchr(answer, '\n') && n < sizeof answer - 1) {
		struct pollfd p = {.fd = w->mount.out, .events = POLLIN};
		int64_t left = (until - clock_mono_ns()) / NS_PER_MS;
		ssize_t got;

		if (run_ending(w->run))
			return err_set(e, ERR_CANCELED, "it never started");
		if (left <= 0)
			return err_set(e, ERR_UNSUPPORTED,
				       "the workspace was not mounted in time");
		if (run_poll(w->run, &p, 1, left, e))
			return -1;
		got = p.revents ? read(p.fd, answer + n, sizeof answer - 1 - n)
				: 0;
		if (p.revents && got <= 0)
			break;
		n += (size_t)got;
		answer[n] = '\0';
		if (drop_progress(answer, &n))
			until = clock_mono_ns() + (int64_t)READY_MS * NS_PER_MS;
	}
	/* It reports the reason; without a report, it was killed. */
	w->lost = !answer[0];
	return w->lost ? err_set(e, ERR_IO,
				 "the process that serves the mount died")
		       : check_answer(answer, e);
}

static int open_proc(const char *name, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int enter_able(struct workspace *w, struct err *e)
{
	w->ns.mnt = open_proc("ns/mnt", w->mount.pid);
	w->ns.root = open_proc("root", w->mount.pid);
	if (geteuid() != 0)
		w->ns.user = open_proc("ns/user", w->mount.pid);
	if (w->ns.mnt < 0 || w->ns.root < 0 ||
	    (geteuid() != 0 && w->ns.user < 0))
		return err_errno_set(
			e, "cannot open the mount namespace of the workspace");
	return 0;
}

bool workspace_is_host(const struct run *r)
{
	return strcmp(r->start->workspace_mode, "disk") == 0;
}

const char *workspace_host_dir(struct run *r)
{
	return r->start->workspace
		       ? arena_text(&r->lasting, r->start->workspace)
		       : "/";
}

static struct workspace *new_workspace(struct run *r)
{
	struct workspace *w = arena_alloc(&r->lasting, sizeof *w);

	*w = (struct workspace){.run = r,
				.dir = WORKSPACE_MOUNT,
				.mount = {.in = -1, .out = -1, .err = -1},
				.ns = {.user = -1, .mnt = -1, .root = -1}};
	if (workspace_is_host(r))
		w->dir = workspace_host_dir(r);
	r->workspace = w;
	return w;
}

static bool is_disk(const struct workspace *w)
{
	return workspace_is_host(w->run);
}

static int make_mount(struct workspace *w, struct err *e)
{
	if (is_disk(w))
		return 0;
	if (start_server(w, e) || await_ready(w, e))
		return -1;
	w->served = true;
	return enter_able(w, e);
}

/* The session keeps a workspace that the run named, unless it ends with it. */
static int keep_for_session(struct workspace *w, struct err *e)
{
	const struct msg_start *s = w->run->start;
	struct transcript *t = &w->run->transcript;

	if (is_disk(w) || s->is_ephemeral == 1 || !s->namespace_make ||
	    !strcmp(s->namespace_make, "missing"))
		return 0;
	return session_keep_workspace(&t->file, t->writer.session,
				      t->writer.run, s->namespace, e);
}

/* With a directory in which commands can run. */
static int prepare_directory(struct workspace *w, struct err *e)
{
	int fd;

	if (keep_for_session(w, e) || confine_commands(w->run, e))
		return -1;
	disk_limit_begin(w->run);
	fd = workspace_dir(w);
	if (fd >= 0)
		files_dir(&w->store, w->dir, fd);
	return bootstrap_run(w->run, e);
}

int workspace_open(struct run *r, struct err *e)
{
	struct workspace *w = new_workspace(r);

	return make_mount(w, e) ? -1 : prepare_directory(w, e);
}

/* Without one. */
static int set_up_tools(struct workspace *w, workspace_opener *open,
			struct err *e)
{
	struct run *r = w->run;
	struct files_plan p = make_plan(r);

	if (check_plan(r, &p, e) ||
	    open(&w->store, w->dir, r->transcript.file.db, &p, e) ||
	    keep_for_session(w, e))
		return -1;
	disk_limit_begin(r);
	return confine_tools(r, w->store.lower, e) ? -1 : bootstrap_run(r, e);
}

static int report_missing(struct workspace *w, struct err *e)
{
	struct buf b = BUF_MAX(8192);

	json_begin_object(&b);
	json_put_text(&b, "workspace", w->run->start->workspace_mode);
	json_put_bool(&b, "commands", false);
	json_put_text(&b, "lacks", w->lacks);
	json_end_object(&b);
	return transcript_add_body(&w->run->transcript, "status", &b, e);
}

int workspace_open_tools(struct run *r, bool commands, workspace_opener *open,
			 struct err *e)
{
	struct workspace *w = new_workspace(r);

	commands = commands || bootstrap_commands(r);
	if (is_disk(w))
		return prepare_directory(w, e);
	if (!commands)
		return set_up_tools(w, open, e);
	if (make_mount(w, e) == 0)
		return prepare_directory(w, e);
	if (e->code != ERR_UNSUPPORTED)
		return -1;
	w->lacks = arena_text(&r->arena, e->text);
	return workspace_close(w, e) || report_missing(w, e)
		       ? -1
		       : set_up_tools(w, open, e);
}

int workspace_commands(const struct workspace *w, struct err *e)
{
	if (is_disk(w) || w->mount.pid)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
		       "commands cannot run here because the "
		       "workspace cannot be mounted: %s",
		       w->lacks ? w->lacks : "it was not requested");
}

int workspace_dir(const struct workspace *w)
{
	char path[PATH_MAX];

	if (w->run->sandbox && w->run->sandbox->workspace >= 0)
		return fcntl(w->run->sandbox->workspace, F_DUPFD_CLOEXEC, 3);
	if (w->mount.pid) /* into its mount namespace */
		snprintf(path, sizeof path, "/proc/%d/root%s",
			 (int)w->mount.pid, w->dir);
	else
		snprintf(path, sizeof path, "%s", w->dir);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

const struct child_ns *workspace_ns(const struct workspace *w)
{
	return w->mount.pid ? &w->ns : NULL;
}

bool workspace_is_lost(const struct workspace *w)
{
	siginfo_t how = {0};

	if (!w->mount.pid || !w->served)
		return w->lost;
	/* It was reaped with other children. */
	return waitid(P_PID, (id_t)w->mount.pid, &how,
		      WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       how.si_pid != 0;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int workspace_close(struct workspace *w, struct err *e)
{
	int status, rc = 0;

	files_close(&w->store);
	shut(&w->ns.user);
	shut(&w->ns.mnt);
	shut(&w->ns.root);
	child_close(&w->mount);
	if (w->mount.pid) {
		tree_unexempt(w->mount.pid);
		rc = tree_end(END_MS, 0, &status, e);
	}
	w->mount.pid = 0;
	return rc;
}
