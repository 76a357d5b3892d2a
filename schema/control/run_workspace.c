#include "schema/control/run_workspace.h"

#include "lib/base/text.h"
#include "schema/definition.h"

#include <string.h>

/* [AGENT:]NAMESPACE[@SNAPSHOT]; agent and snapshot are NULL if absent. */
struct source {
	const char *agent, *name, *snapshot;
};

static int split_source(const char *text, struct source *out, struct arena *a,
			struct err *e)
{
	char *copy = arena_text(a, text);
	char *colon = strchr(copy, ':'), *at;

	*out = (struct source){.name = copy};
	if (colon) {
		*colon = '\0';
		out->agent = copy;
		out->name = copy = colon + 1;
	}
	at = strchr(copy, '@');
	if (at) {
		*at = '\0';
		out->snapshot = at + 1;
	}
	return (out->agent && text_check_name("the agent", out->agent, e)) ||
			       text_check_name("the namespace", out->name, e) ||
			       (out->snapshot &&
				text_check_name("the snapshot", out->snapshot,
						e))
		       ? -1
		       : 0;
}

static int check_source(const char *text, struct err *e)
{
	struct arena a = {0};
	struct source s;
	int rc = split_source(text, &s, &a, e);

	arena_fini(&a);
	if (rc)
		e->code = ERR_INVALID;
	return rc ? err_wrap(e, "fork_of") : 0;
}

static int check_kind(int kinds, const char *fork_of, const char *over,
		      struct err *e)
{
	if (kinds > 1)
		return err_set(e, ERR_INVALID,
			       "a workspace is a fork, over a directory or "
			       "fresh; choose one of these");
	if (over && over[0] != '/')
		return err_set(e, ERR_INVALID,
			       "over must be an absolute path, not '%s'",
			       quoted(over).text);
	return fork_of ? check_source(fork_of, e) : 0;
}

bool run_workspace_is_new(const struct run_request *request)
{
	return request->fork_of || request->over || request->fresh ||
	       request->ephemeral;
}

int run_workspace_check(const struct run_request *request, struct err *e)
{
	int kinds = (request->fork_of != NULL) + (request->over != NULL) +
		    request->fresh;

	if (request->workspace &&
	    text_check_name("the workspace", request->workspace, e))
		return -1;
	return check_kind(kinds, request->fork_of, request->over, e);
}

/* --- the definition ---------------------------------------------------- */

static bool is_set(const cJSON *v, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(v, name));
}

/* A new namespace for each run, or for its first run. */
static bool makes(const cJSON *v)
{
	return json_text(v, "fork_of", NULL) || json_text(v, "over", NULL) ||
	       is_set(v, "fresh") || is_set(v, "ephemeral");
}

static int check_object(const cJSON *v, struct err *e)
{
	const char *fork_of = json_text(v, "fork_of", NULL);
	const char *over = json_text(v, "over", NULL);

	if (definition_check_names("namespace", v, e))
		return -1;
	return check_kind((fork_of != NULL) + (over != NULL) +
				  is_set(v, "fresh"),
			  fork_of, over, e);
}

int run_workspace_check_definition(const cJSON *spec, const char *mode,
				   struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(spec, "namespace");
	const char *name = cJSON_GetStringValue(v);

	if (!v)
		return 0;
	if (cJSON_IsObject(v)) {
		if (check_object(v, e))
			return -1;
		name = json_text(v, "name", NULL);
	} else if (!name) {
		return err_set(e, ERR_INVALID,
			       "namespace must be a name or an object");
	}
	if (name && text_check_name("namespace", name, e)) {
		e->code = ERR_INVALID;
		return -1;
	}
	if (name && !makes(v) && !strcmp(mode, "disk"))
		return err_set(e, ERR_INVALID,
			       "namespace requires the workspace vfs-only or "
			       "vfs-scratch; disk is a directory of the host");
	return 0;
}

/* --- the choice -------------------------------------------------------- */

static bool is_disk(const struct run_workspace_choice *c)
{
	return !strcmp(c->mode, "disk");
}

static bool is_over(const struct run_workspace_choice *c)
{
	return strcmp(c->mode, "vfs-only") != 0;
}

static int set_fork(struct run_workspace *out, const char *fork_of,
		    const struct run_workspace_choice *c, struct arena *a,
		    struct err *e)
{
	struct source s;

	if (!fork_of)
		return 0;
	if (split_source(fork_of, &s, a, e))
		return -1;
	if (s.agent && strcmp(s.agent, c->run->agent) != 0)
		out->fork_agent = s.agent;
	out->fork_of = s.snapshot ? arena_printf(a, "%s@%s", s.name, s.snapshot)
				  : s.name;
	return 0;
}

/* The namespace that the definition names, or NULL. */
static const char *defined_name(const struct run_workspace_choice *c)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(c->spec, "namespace");

	return cJSON_IsObject(v) ? json_text(v, "name", NULL)
				 : cJSON_GetStringValue(v);
}

static int choose_new(struct run_workspace *out,
		      const struct run_workspace_choice *c, struct arena *a,
		      struct err *e)
{
	const struct run_active_row *r = c->run;

	*out = (struct run_workspace){.name = r->workspace,
				      .make = WORKSPACE_ALWAYS,
				      .base = r->over_dir,
				      .ephemeral = r->is_ephemeral};
	if (!r->fork_of && !r->over_dir && !r->is_fresh && is_over(c))
		out->base = c->dir;
	return set_fork(out, r->fork_of, c, a, e);
}

/* The agent's own workspace. */
static void choose_default(struct run_workspace *out,
			   const struct run_workspace_choice *c,
			   struct arena *a)
{
	const char *name = defined_name(c);

	if (is_disk(c)) {
		*out = (struct run_workspace){.dir = c->dir};
		return;
	}
	*out = (struct run_workspace){
		.name = arena_text(a, name ? name : WORKSPACE_MAIN),
		.make = WORKSPACE_MISSING,
		.base = is_over(c) ? c->dir : NULL};
}

static int choose_defined(struct run_workspace *out,
			  const struct run_workspace_choice *c, struct arena *a,
			  struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(c->spec, "namespace");
	const char *name = json_text(v, "name", NULL);
	const char *over = json_text(v, "over", NULL);
	const char *fork_of = json_text(v, "fork_of", NULL);
	bool keeps = name && !is_set(v, "ephemeral");

	if (!cJSON_IsObject(v) || !makes(v)) {
		choose_default(out, c, a);
		return 0;
	}
	*out = (struct run_workspace){
		.name = keeps ? arena_text(a, name) : c->run->id,
		.make = keeps ? WORKSPACE_MISSING : WORKSPACE_ALWAYS,
		.base = over ? arena_text(a, over) : NULL,
		.ephemeral = is_set(v, "ephemeral")};
	if (!over && !fork_of && !is_set(v, "fresh") && is_over(c))
		out->base = c->dir;
	return set_fork(out, fork_of, c, a, e);
}

/* A name creates nothing, unless it is the agent's own. */
static int choose_named(struct run_workspace *out, const char *name,
			const struct run_workspace_choice *c, struct arena *a,
			struct err *e)
{
	const char *own = defined_name(c);

	if (!own && !is_disk(c))
		own = WORKSPACE_MAIN;
	if (own && !strcmp(name, own))
		return choose_defined(out, c, a, e);
	*out = (struct run_workspace){.name = name, .make = WORKSPACE_NEVER};
	return 0;
}

static bool is_shared(const struct run_workspace *w,
		      const struct run_workspace_choice *c)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(c->spec, "namespace");
	const cJSON *share = cJSON_GetObjectItemCaseSensitive(v, "share");

	if (c->run->is_shared || cJSON_IsBool(share))
		return c->run->is_shared || cJSON_IsTrue(share);
	return w->dir != NULL; /* other programs use it as well */
}

int run_workspace_choose(struct run_workspace *out,
			 const struct run_workspace_choice *c, struct arena *a,
			 struct err *e)
{
	const struct run_active_row *r = c->run;
	int rc = 0;

	if (r->fork_of || r->over_dir || r->is_fresh || r->is_ephemeral)
		rc = choose_new(out, c, a, e);
	else if (r->workspace)
		rc = choose_named(out, r->workspace, c, a, e);
	else if (c->session && strcmp(c->session, r->id) != 0)
		rc = choose_named(out, c->session, c, a, e);
	else
		rc = choose_defined(out, c, a, e);
	if (rc == 0)
		out->share = is_shared(out, c);
	return rc;
}
