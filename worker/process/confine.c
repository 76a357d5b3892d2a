#include "worker/process/confine.h"

#include "lib/base/log.h"
#include "lib/base/mark.h"
#include "lib/json/json.h"
#include "lib/os/process_tree.h"
#include "lib/sandbox/cgroup.h"
#include "lib/sandbox/support.h"
#include "worker/driver/driver.h"
#include "worker/process/command.h"
#include "worker/process/disk_limit.h"
#include "worker/process/oom.h"
#include "worker/process/programs.h"
#include "worker/workspace/media.h"
#include "worker/workspace/workspace.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct confine {
	struct sandbox_plan plan;
	struct sandbox sandbox;
};

static int read_spec(struct run *r, struct err *e)
{
	const char *text = r->start->sandbox;
	cJSON *v;
	int rc;

	r->sandbox_spec.mode = SANDBOX_OFF;
	if (!text)
		return 0;
	v = json_parse_object("sandbox", text, strlen(text), e);
	if (!v)
		return -1;
	rc = sandbox_spec_read(&r->sandbox_spec, v, &r->arena, e);
	cJSON_Delete(v);
	return rc;
}

static int record_gaps(struct run *r, const struct buf *missing, struct err *e)
{
	struct buf b = BUF_MAX(8192);

	log_info(LT("msg", "a sandbox with gaps"), LT("run", r->start->run),
		 LT("lacks", missing->p));
	json_begin_object(&b);
	json_put_text(&b, "sandbox", "on");
	json_key(&b, "lacks");
	json_add_string(&b, missing->p, missing->n - 1);
	json_end_object(&b);
	return transcript_add_body(&r->transcript, "status", &b, e);
}

static int check_support(struct run *r, const struct sandbox_support *o,
			 struct err *e)
{
	struct buf missing = BUF_MAX(4096);
	int rc;

	(void)sandbox_missing(o, &r->sandbox_spec, &missing);
	rc = sandbox_accept(o, &r->sandbox_spec, &missing, e);
	if (rc == 0 && missing.n > 0)
		rc = record_gaps(r, &missing, e);
	buf_fini(&missing);
	return rc;
}

static struct sandbox_plan plan_of(struct run *r)
{
	const struct msg_start *s = r->start;
	char *own = arena_text(&r->arena, s->agent_db);

	return (struct sandbox_plan){
		.spec = &r->sandbox_spec,
		.namespaces = {.user = -1,
			       .mnt = -1,
			       .root = -1,
			       .hidden = s->home},
		.home = getenv("HOME"),
		.own = dirname(own),
	};
}

/* A run sees the attachments that its prompt names. */
static void show_media(struct run *r, struct sandbox_paths *shown)
{
	const char *at = r->start->prompt;
	struct media m;

	while (shown->n < SANDBOX_PATHS &&
	       media_next(r->start->home, &at, &r->arena, &m))
		shown->path[shown->n++] = m.path;
}

/* A worker without commands needs no namespaces. */
static int confine_self(struct run *r, const struct sandbox_plan *p,
			struct err *e)
{
	struct sandbox_support o;

	sandbox_detect(&o);
	o.namespaces = o.pids = true;
	return check_support(r, &o, e) || sandbox_self(p, e) ? -1 : 0;
}

int confine_run(struct run *r, struct err *e)
{
	struct sandbox_plan p;

	if (read_spec(r, e))
		return -1;
	if (r->workspace) { /* of the previous run, taken over */
		disk_limit_begin(r);
		oom_begin(r);
	}
	if (r->sandbox_spec.mode == SANDBOX_OFF && namespaces_prepared()) {
		namespaces_unprepare();
		tree_has_init(0);
	}
	if (r->sandbox_spec.mode == SANDBOX_OFF || r->driver->commands)
		return 0;
	p = plan_of(r);
	if (strcmp(r->start->workspace_mode, "disk") == 0)
		p.workspace = r->start->workspace;
	return confine_self(r, &p, e);
}

static void show_path(struct sandbox_paths *shown, const char *path)
{
	for (int i = 0; path && i < shown->n; i++)
		if (strcmp(shown->path[i], path) == 0)
			return;
	if (path && shown->n < SANDBOX_PATHS)
		shown->path[shown->n++] = path;
}

void confine_show_certificates(struct sandbox_paths *shown)
{
	const char *path;

	for (size_t i = 0; (path = exec_config_certificates(i)); i++)
		show_path(shown,
			  path[0] && access(path, R_OK) == 0 ? path : NULL);
}

int confine_tools(struct run *r, const char *base, struct err *e)
{
	struct sandbox_plan p = plan_of(r);
	char names[PATH_MAX]; /* of servers: often a link to another
			       * directory */

	if (r->sandbox_spec.mode == SANDBOX_OFF)
		return 0;
	show_path(&p.shown, base);
	show_path(&p.shown, realpath("/etc/resolv.conf", names));
	for (int i = 0; i < r->sandbox_spec.read.n; i++)
		show_path(&p.shown, r->sandbox_spec.read.path[i]);
	show_media(r, &p.shown);
	confine_show_certificates(&p.shown);
	return confine_self(r, &p, e);
}

/* An agent starts our program for access to the workspace. */
static int plan_commands(struct run *r, const char *dir, struct sandbox_plan *p,
			 struct err *e)
{
	char program[PATH_MAX];

	*p = plan_of(r);
	if (workspace_program(program, e))
		return -1;
	show_path(&p->shown, arena_text(&r->lasting, program));
	show_path(&p->shown, r->ask_socket);
	show_path(&p->shown, r->run_socket);
	show_path(&p->shown, r->run_helper);
	p->workspace = dir;
	show_media(r, &p->shown);
	confine_show_certificates(&p->shown);
	programs_show(
		&p->shown,
		&(struct programs_request){r->start->config, r->start->home,
					   written_by(&r->sandbox_spec, dir)},
		&r->lasting);
	sandbox_plan_resolve(p, &r->lasting);
	return 0;
}

static struct confine *new_confine(struct run *r)
{
	struct confine *c = arena_alloc(&r->lasting, sizeof *c);

	*c = (struct confine){.sandbox = SANDBOX_NONE};
	return c;
}

void confine_begin(struct run *r)
{
	struct err ignored; /* confine_commands tries again and reports it */
	struct confine *c;

	if (!workspace_is_host(r) || read_spec(r, &ignored) ||
	    r->sandbox_spec.mode == SANDBOX_OFF)
		return;
	c = new_confine(r);
	if (plan_commands(r, workspace_host_dir(r), &c->plan, &ignored))
		return;
	cgroup_limit_late(&r->sandbox_spec.limits);
	sandbox_begin(&c->sandbox, &c->plan);
	tree_has_init(c->sandbox.namespaces.init);
	r->making = c;
}

/* Uses the sandbox of confine_begin, or makes it from the start. */
static struct confine *plan_now(struct run *r, struct err *e)
{
	const struct workspace *w = r->workspace;
	struct confine *c = r->making;

	if (c)
		return c;
	c = new_confine(r);
	if (plan_commands(r, w->dir, &c->plan, e))
		return NULL;
	c->plan.namespaces.user = w->ns.user;
	c->plan.namespaces.mnt = w->ns.mnt;
	c->plan.namespaces.root = w->ns.root;
	cgroup_limit_late(&r->sandbox_spec.limits);
	return c;
}

int confine_commands(struct run *r, struct err *e)
{
	struct sandbox_support o;
	struct confine *c;

	if (r->sandbox_spec.mode == SANDBOX_OFF)
		return 0;
	c = plan_now(r, e);
	r->making = NULL;
	if (!c)
		return -1;
	mark(MARK_cgroup_limited);
	oom_begin(r);
	if (sandbox_make(&c->sandbox, &c->plan, e))
		return -1;
	r->sandbox = &c->sandbox;
	tree_has_init(r->sandbox->namespaces.init);
	sandbox_detect(&o);
	o.namespaces = r->sandbox->namespaces.mnt >= 0;
	o.error = o.namespaces ? NULL : r->sandbox->namespaces_error.text;
	o.pids = r->sandbox->namespaces.pid >= 0;
	return check_support(r, &o, e);
}

void confine_kill(struct run *r)
{
	if (r->sandbox)
		sandbox_end(r->sandbox);
}

void confine_end(struct run *r)
{
	namespaces_unprepare();
	tree_has_init(0);
	if (r->making)
		sandbox_drop(&r->making->sandbox);
	if (r->sandbox)
		sandbox_drop(r->sandbox);
	r->making = NULL;
	r->sandbox = NULL;
}
