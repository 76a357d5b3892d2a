#include "worker/spawner/plugin_start.h"

#include "lib/json/json.h"
#include "lib/os/file.h"
#include "lib/os/process_tree.h"
#include "lib/sandbox/cgroup.h"
#include "lib/sandbox/support.h"
#include "worker/process/confine.h"
#include "worker/process/programs.h"

#include <stdlib.h>

#define START_MAX (16u << 20)

static char **read_command(const cJSON *list, struct arena *a)
{
	int n = cJSON_GetArraySize(list), i = 0;
	char **argv = arena_alloc(a, ((size_t)n + 1) * sizeof *argv);
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		argv[i++] = arena_text(a, cJSON_GetStringValue(v));
	}
	return argv;
}

static void read_shown(struct sandbox_paths *shown, const cJSON *list,
		       struct arena *a)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		if (shown->n < SANDBOX_PATHS)
			shown->path[shown->n++] = arena_text(
				a, cJSON_GetStringValue(v));
	}
}

static int read_members(struct plugin_start *s, const cJSON *v, struct err *e)
{
	struct arena *a = &s->arena;

	s->home = arena_text(a, json_text(v, "home", NULL));
	s->channel = arena_text(a, json_text(v, "channel", NULL));
	s->argv = read_command(json_member(v, "command"), a);
	s->plan = (struct sandbox_plan){
		.spec = &s->spec,
		.namespaces = {.user = -1,
			       .mnt = -1,
			       .root = -1,
			       .hidden = s->home},
		.home = getenv("HOME"),
	};
	read_shown(&s->plan.shown, json_member(v, "shown"), a);
	if (!s->home || !s->channel || !s->argv[0])
		return err_set(e, ERR_PROTOCOL,
			       "the start message of a plugin is incomplete");
	return sandbox_spec_read_plugin(&s->spec, json_member(v, "sandbox"), a,
					e);
}

int plugin_start_read(struct plugin_start *s, int fd, struct err *e)
{
	static const char what[] = "the start message of a plugin";
	struct buf b = BUF_MAX(START_MAX);
	cJSON *v = NULL;
	int rc = -1;

	*s = (struct plugin_start){.sandbox = SANDBOX_NONE};
	if (file_read_fd(fd, what, &b, e) == 0)
		v = json_parse_object(what, b.p, b.n, e);
	if (v)
		rc = read_members(s, v, e);
	if (rc == 0) {
		programs_show(&s->plan.shown,
			      &(struct programs_request){
				      b.p, s->home, written_by(&s->spec, NULL)},
			      &s->arena);
		confine_show_certificates(&s->plan.shown);
		sandbox_plan_resolve(&s->plan, &s->arena);
	}
	cJSON_Delete(v);
	buf_fini(&b);
	return rc;
}

static int check_support(const struct plugin_start *s, struct err *e)
{
	const struct namespaces *namespaces = &s->sandbox.namespaces;
	struct buf lacks = BUF_MAX(4096);
	struct sandbox_support o;
	int rc;

	sandbox_detect(&o);
	o.namespaces = namespaces->mnt >= 0;
	o.error = o.namespaces ? NULL : s->sandbox.namespaces_error.text;
	o.pids = namespaces->pid >= 0;
	(void)sandbox_missing(&o, &s->spec, &lacks);
	rc = sandbox_accept(&o, &s->spec, &lacks, e);
	buf_fini(&lacks);
	return rc;
}

int plugin_start_confine(struct plugin_start *s, struct err *e)
{
	if (s->spec.mode == SANDBOX_OFF)
		return 0;
	cgroup_limit_late(&s->spec.limits);
	(void)unsetenv(CGROUP_MEMORY_DIR);
	if (sandbox_make(&s->sandbox, &s->plan, e))
		return -1;
	tree_has_init(s->sandbox.namespaces.init);
	return check_support(s, e);
}

const struct sandbox *plugin_start_sandbox(const struct plugin_start *s)
{
	return s->spec.mode == SANDBOX_OFF ? NULL : &s->sandbox;
}

void plugin_start_end(struct plugin_start *s)
{
	tree_has_init(0);
	sandbox_drop(&s->sandbox);
}
