#include "lib/sandbox/sandbox.h"

#include "lib/base/log.h"
#include "lib/base/mark.h"
#include "lib/os/proc.h"
#include "lib/sandbox/rules.h"
#include "lib/sandbox/support.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Capabilities that root keeps in a sandbox: those for its own files. */
static const int caps_kept[] = {
	CAP_CHOWN,   CAP_DAC_OVERRIDE,     CAP_FOWNER, CAP_FSETID,
	CAP_KILL,    CAP_SETGID,           CAP_SETUID, CAP_SETPCAP,
	CAP_SETFCAP, CAP_NET_BIND_SERVICE,
};

/* --- making ------------------------------------------------------------ */

static int make_files(struct sandbox *b, const struct sandbox_plan *p,
		      struct err *e)
{
	struct sandbox_support o;

	sandbox_detect(&o);
	if (o.landlock == 0)
		return 0;
	return rules_make(b->rules, RULES_COMMAND, p, b, &b->files, e);
}

static enum seccomp_for filter_of(const struct sandbox *b,
				  enum sandbox_network network)
{
	if (b->namespaces.mnt < 0)
		return network == NETWORK_HOST ? SECCOMP_FOR_HOST_MOUNTS
					       : SECCOMP_FOR_HOST_NETWORK;
	return b->namespaces.pid < 0 ? SECCOMP_FOR_HOST_PIDS
				     : SECCOMP_FOR_COMMAND;
}

static int make_filter(struct sandbox *b, enum sandbox_network network,
		       struct err *e)
{
	struct sandbox_support o;

	sandbox_detect(&o);
	if (!o.filter)
		return 0;
	b->filter = seccomp_get(filter_of(b, network), e);
	return b->filter ? 0 : -1;
}

/* Shorter paths first: a path that contains another is put back before it. */
static void add_visible(struct namespaces_plan *s, const char *path, bool write)
{
	int i = s->nvisible;

	if (!path)
		return;
	assert(i < VISIBLE_PATHS);
	for (; i > 0 && strlen(s->visible[i - 1].path) > strlen(path); i--)
		s->visible[i] = s->visible[i - 1];
	s->visible[i] = (struct visible_path){path, write};
	s->nvisible++;
}

/* Besides homes and keys. For users other than root, some are not covered; then
 * what is below is put back onto itself. */
static const char *const covers[] = {
	"/dev",
	"/tmp",
#define MASK_DIR(path) path,
#define SEEN(path)
#include "lib/sandbox/sockets.def"
#undef MASK_DIR
#undef SEEN
#define SECRET(path) path,
#include "lib/sandbox/secrets.def"
#undef SECRET
};

static bool is_between(const char *mask, const char *top, const char *path)
{
	return path_is_below(path, mask) && !path_is_below(top, mask);
}

/* Whether the path is visible as a part of `dir`, since nothing between them is
 * covered. */
static bool is_seen_in(const char *dir, const char *path,
		       const struct namespaces_plan *s)
{
	bool seen = path_is_below(path, dir) &&
		    !(s->hidden && is_between(s->hidden, dir, path));

	for (size_t i = 0; i < sizeof covers / sizeof *covers; i++)
		seen = seen && !is_between(covers[i], dir, path);
	for (int i = 0; i < s->homes->n; i++)
		seen = seen && !is_between(s->homes->dir[i], dir, path);
	for (int i = 0; i < s->homes->nkeys; i++)
		seen = seen && !is_between(s->homes->key[i], dir, path);
	return seen;
}

/* Sockets are covered wherever they are. */
static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A path in a writable one stays writable. One that is a part of another, or that
 * nothing covers, is visible anyway: putting it back costs several mounts. */
static void save_shown(struct namespaces_plan *s, const struct written *written,
		       const char *path)
{
	for (int i = 0; i < written->n; i++)
		if (is_seen_in(written->path[i], path, s))
			return;
	for (int i = 0; i < s->nvisible; i++)
		if (is_seen_in(s->visible[i].path, path, s))
			return;
	if (!is_seen_in("/", path, s) || is_socket(path))
		add_visible(s, path, false);
}

/* homes must live as long as the plan. */
static struct namespaces_plan plan_namespaces(const struct sandbox_plan *p,
					      struct homes *homes)
{
	static const char *const seen[] = {
#define MASK_DIR(path)
#define SEEN(path) path,
#include "lib/sandbox/sockets.def"
#undef MASK_DIR
#undef SEEN
	};
	struct namespaces_plan s = p->namespaces;
	const struct sandbox_spec *spec = p->spec;
	const struct written written = written_by(spec, p->workspace);

	/* three lists, the workspace, and these: each has its place */
	static_assert(SANDBOX_PATHS * 3 + 1 + sizeof seen / sizeof *seen <=
			      VISIBLE_PATHS,
		      "no path is left out");

	homes_list(homes, p->home);
	if (spec->read.n > 0)
		homes_add_rest(homes);
	s.homes = homes;
	s.network = spec->network;
	s.tmp = spec->limits.tmp ? spec->limits.tmp : (int64_t)1 << 40;
	add_visible(&s, p->workspace, true);
	for (int i = 0; i < spec->write.n; i++)
		add_visible(&s, spec->write.path[i], true);
	for (int i = 0; i < spec->read.n; i++)
		add_visible(&s, spec->read.path[i], false);
	for (int i = 0; i < p->shown.n; i++)
		save_shown(&s, &written, p->shown.path[i]);
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
		add_visible(&s, seen[i], false);
	return s;
}

static void make_namespaces(struct sandbox *b, const struct sandbox_plan *p)
{
	struct homes homes;
	struct namespaces_plan s = plan_namespaces(p, &homes);

	if (namespaces_make(&b->namespaces, &s, &b->namespaces_error))
		log_warn(LT("msg", "no namespaces for a sandbox"),
			 LT("why", b->namespaces_error.text));
}

static int restrict_files(const struct sandbox_plan *p, const struct sandbox *b,
			  struct err *e)
{
	struct landlock f;
	int rc = 0;

	if (rules_make(b->rules, RULES_WORKER, p, b, &f, e))
		return e->code == ERR_UNSUPPORTED ? 0 : -1;
	if (landlock_enforce(&f))
		rc = err_errno_set(e, "the worker's own rules for files");
	landlock_end(&f);
	return rc;
}

static int restrict_calls(enum seccomp_for who, struct err *e)
{
	const struct sock_fprog *filter;
	struct sandbox_support o;

	sandbox_detect(&o);
	if (!o.filter)
		return 0;
	filter = seccomp_get(who, e);
	if (filter && seccomp_enforce(filter, true))
		return err_errno_set(e, "the worker's own system call filter");
	return filter ? 0 : -1;
}

static int open_workspace(const struct sandbox *b, const struct sandbox_plan *p)
{
	struct written w = written_by(p->spec, p->workspace);

	return rules_open_visible(b, &w, p->workspace);
}

/* Only what programs need, and the worker's own paths: few rules, quickly
 * made. */
int sandbox_self(const struct sandbox_plan *p, struct err *e)
{
	struct sandbox_spec few = {.read = {.path = {p->own}, .n = 1}};
	struct sandbox_plan plan = {
		.spec = &few, .own = p->own, .shown = p->shown};
	struct sandbox b = SANDBOX_NONE;
	int rc;

	if (p->workspace)
		b.workspace = open_workspace(&b, p);
	rc = restrict_files(&plan, &b, e) ||
			     restrict_calls(SECCOMP_FOR_HOST_PIDS, e)
		     ? -1
		     : 0;
	sandbox_drop(&b);
	return rc;
}

/* Only those that it has: without root there are none, or those of a
 * namespace. */
static int keep_caps(uint64_t visible)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -1;
	for (int i = 0; i < 2; i++) {
		d[i].permitted &= (uint32_t)(visible >> (32 * i));
		d[i].effective = d[i].permitted;
		d[i].inheritable = 0;
	}
	return (int)syscall(SYS_capset, &h, d);
}

int sandbox_server(const struct sandbox_plan *p, struct err *e)
{
	struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) ||
	    keep_caps(UINT64_C(1) << CAP_DAC_OVERRIDE))
		return err_errno_set(e, "dropping privileges");
	return sandbox_self(p, e);
}

static int restrict_worker(const struct sandbox *b,
			   const struct sandbox_plan *p, struct err *e)
{
	mark(MARK_rules_made);
	return restrict_files(p, b, e) || restrict_calls(SECCOMP_FOR_WORKER, e)
		       ? -1
		       : 0;
}

void sandbox_begin(struct sandbox *b, const struct sandbox_plan *p)
{
	struct homes homes;
	struct namespaces_plan s = plan_namespaces(p, &homes);

	*b = (struct sandbox)SANDBOX_NONE;
	namespaces_begin(&b->namespaces, &s);
	b->rules = rules_begin(p);
}

int sandbox_make(struct sandbox *b, const struct sandbox_plan *p, struct err *e)
{
	b->limits = p->spec->limits;
	b->oom = proc_oom_open(&b->oom_score);
	make_namespaces(b, p);
	mark(MARK_namespaces_made);
	if (p->workspace)
		b->workspace = open_workspace(b, p);
	if (make_files(b, p, e) || make_filter(b, p->spec->network, e) ||
	    restrict_worker(b, p, e)) {
		sandbox_drop(b);
		return -1;
	}
	rules_end(b->rules);
	b->rules = NULL;
	mark(MARK_confined);
	return 0;
}

void sandbox_end(struct sandbox *b)
{
	rules_end(b->rules);
	b->rules = NULL;
	landlock_end(&b->files);
	if (b->workspace >= 0)
		close(b->workspace);
	b->workspace = -1;
	namespaces_end(&b->namespaces);
}

void sandbox_drop(struct sandbox *b)
{
	sandbox_end(b);
	namespaces_drop(&b->namespaces);
	if (b->oom >= 0)
		close(b->oom);
	b->oom = -1;
}

pid_t sandbox_start(const struct sandbox *b, void (*fn)(void *), void *arg)
{
	pid_t pid;

	if (b) /* inherited by the child, which can no longer set it */
		proc_oom_set(b->oom, PROC_OOM_COMMAND + b->oom_score);
	pid = b && b->namespaces.mnt >= 0
		      ? namespaces_start(&b->namespaces, fn, arg)
		      : fork();
	if (pid == 0) {
		fn(arg);
		_exit(127);
	}
	if (b)
		proc_oom_set(b->oom, b->oom_score);
	return pid;
}

/* --- in the child: system calls only ----------------------------------- */

int sandbox_enter_namespaces(const struct sandbox *b)
{
	return namespaces_enter(&b->namespaces);
}

/* Never raises the current limit. */
static int limit(int what, int64_t n)
{
	struct rlimit r = {(rlim_t)n, (rlim_t)n}, now;

	if (n <= 0 || getrlimit((__rlimit_resource_t)what, &now))
		return 0;
	if (now.rlim_max < r.rlim_max)
		r.rlim_max = now.rlim_max;
	if (now.rlim_cur < r.rlim_cur)
		r.rlim_cur = now.rlim_cur;
	return setrlimit((__rlimit_resource_t)what, &r);
}

/* The kernel counts by user and user namespace, and does not count root.
 * Without a user namespace of the run, all processes of the user count, so the
 * limit is set only if the definition names it. */
static int limit_pids(const struct sandbox *b)
{
	if (geteuid() == 0 || (b->namespaces.user < 0 && !b->limits.pids_set))
		return 0;
	return limit(RLIMIT_NPROC, b->limits.pids);
}

static int enforce_limits(const struct sandbox *b)
{
	const struct sandbox_limits *l = &b->limits;
	struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) || limit(RLIMIT_FSIZE, l->file) ||
	    limit(RLIMIT_NOFILE, l->files))
		return -1;
	return limit_pids(b);
}

static bool is_visible(int cap)
{
	for (size_t i = 0; i < sizeof caps_kept / sizeof *caps_kept; i++)
		if (caps_kept[i] == cap)
			return true;
	return false;
}

/* Removes them from the bounding set: they are gone after the next exec. */
static void drop_caps(void)
{
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (!is_visible(cap))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int sandbox_enforce(const struct sandbox *b)
{
	if (enforce_limits(b))
		return -1;
	drop_caps();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (b->files.ruleset >= 0 && landlock_enforce(&b->files)) ||
	    (b->filter && seccomp_enforce(b->filter, false)))
		return -1;
	return 0;
}
