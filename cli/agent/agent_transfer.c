#include "cli/agent/agent_transfer.h"

#include "cli/agent/agent_edit.h"
#include "cli/state/ops_cli.h"
#include "lib/base/fault.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/control/agent_bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct staged_agent {
	const char *name, *dir;
};

static int import_directly(struct cli *cli, void *arg, struct err *e)
{
	const struct staged_agent *m = arg;

	return agent_bundle_import(cli->control, &cli->home, m->name, m->dir,
				   &cli->arena, e);
}

static int make_agent(struct cli *cli, const char *name, const char *dir,
		      struct err *e)
{
	struct staged_agent m = {name, dir};
	struct buf body = BUF_MAX(2 * PATH_MAX);
	struct cli_act act = {.method = "POST",
			      .path = agent_url(cli, name, "/import"),
			      .direct = import_directly,
			      .arg = &m};
	struct err ignored;
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "path", dir);
	json_end_object(&body);
	act.body = body.p;
	rc = cli_act(cli, &act, e);
	buf_fini(&body);
	if (rc || cli->supervised)
		return rc;
	(void)fault_point(FAULT_agent_imported, &ignored);
	agent_bundle_done(&cli->home, name);
	return 0;
}

int agent_receive(struct cli *cli, const struct agent_source *from,
		  struct agent_import_sum *out, struct err *e)
{
	struct agent_import x = {.home = &cli->home,
				 .name = from->name,
				 .fd = from->fd,
				 .archive = from->archive,
				 .size = from->size,
				 .work = {.lock = -1}};
	struct ops_bar bar;
	const char *dir;
	int rc;

	x.id = arena_text(&cli->arena, id_new(ID_BACKUP).text);
	/* before anything is unpacked; checked again in the transaction */
	if (x.name &&
	    agent_bundle_check_name(cli->control, &cli->home, x.name, e))
		return -1;
	x.progress = ops_bar(&bar, cli, "unpacking");
	rc = agent_import_stage(&x, out, &dir, &cli->arena, e);
	ops_bar_end(&bar);
	if (rc == 0)
		rc = text_check_name("agent", out->agent, e) ||
				     make_agent(cli, out->agent, dir, e)
			     ? -1
			     : 0;
	staging_dir_close(&x.work);
	return rc;
}

/* --- the report ------------------------------------------------------- */

static cJSON *list_of(const char *json)
{
	struct err ignored; /* written by ops/agent */

	return json_parse("list", json, strlen(json), &ignored);
}

static void print_held(struct cli *cli, const struct agent_import_sum *s)
{
	cJSON *list = list_of(s->bindings);
	int n = cJSON_GetArraySize(list);

	if (n)
		output_note(&cli->out,
			    "%d %s held: 'skep agent held %s' lists them, "
			    "'skep agent confirm %s' puts them into effect",
			    n, text_plural(n, "binding is", "bindings are"),
			    s->agent, s->agent);
	cJSON_Delete(list);
}

static bool has_credential(struct cli *cli, const char *name)
{
	struct home_path path = home_join(&cli->home, HOME_CREDENTIALS, name);

	return file_exists(name[0] == '/' ? name : path.text);
}

static void print_secrets(struct cli *cli, const struct agent_import_sum *s)
{
	cJSON *files = list_of(s->credentials), *vars = list_of(s->variables);
	const cJSON *m;

	cJSON_ArrayForEach(m, files)
	{
		output_note(&cli->out, "credential file %s: %s", m->valuestring,
			    has_credential(cli, m->valuestring)
				    ? "exists in this home"
				    : "missing; supply it");
	}
	cJSON_ArrayForEach(m, vars)
	{
		output_note(&cli->out,
			    "variable %s: skepd must have it in its "
			    "environment",
			    m->valuestring);
	}
	cJSON_Delete(files);
	cJSON_Delete(vars);
}

void agent_print_import(struct cli *cli, const struct agent_import_sum *s,
			const char *verb)
{
	if (cli->out.json) {
		output_object(&cli->out, &agent_import_sum_shape, s);
		return;
	}
	output_note(&cli->out, "%s agent %s from %s: %lld %s", verb, s->agent,
		    s->original, (long long)s->versions,
		    text_plural(s->versions, "version", "versions"));
	if (s->runs_failed)
		output_note(&cli->out,
			    "runs that were active: %lld; they failed in the "
			    "copy",
			    (long long)s->runs_failed);
	if (s->messages_held)
		output_note(&cli->out,
			    "messages held, since %s may have sent them: %lld",
			    s->original, (long long)s->messages_held);
	print_held(cli, s);
	print_secrets(cli, s);
}
