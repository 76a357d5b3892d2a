#include "cli/import/import_cli.h"

#include "cli/agent/agent_edit.h"
#include "lib/json/json.h"
#include "schema/control/agent.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <string.h>

/* --- agents ----------------------------------------------------------------------- */

/* Created by an import that had only its name. */
static bool is_bare(const struct agent_row *row)
{
	return !strcmp(row->driver, "chat") && !row->model && !row->prompt &&
	       !strcmp(row->spec, "{}");
}

static struct agent_row bare(const char *name)
{
	return (struct agent_row){.name = name,
				  .driver = "chat",
				  .workspace = "disk",
				  .is_enabled = true,
				  .spec = "{}",
				  .source = "command"};
}

static bool same_agent(const struct agent_row *a, const struct agent_row *b)
{
	struct buf x = BUF_MAX(4u * AGENT_TEXT_MAX);
	struct buf y = BUF_MAX(4u * AGENT_TEXT_MAX);
	bool equal;

	agent_to_json(a, &x);
	agent_to_json(b, &y);
	equal = !strcmp(x.p, y.p);
	buf_fini(&x);
	buf_fini(&y);
	return equal;
}

static int put_agent(void *arg, const char *name, const cJSON *def,
		     struct err *e)
{
	struct cli *cli = arg;
	struct agent_row row = bare(name), known;
	struct err none;
	bool there = agents_get(cli->control, name, &known, &cli->arena,
				&none) == 0;

	if (!there && none.code != ERR_NOTFOUND) {
		*e = none;
		return -1;
	}
	if (there && !def)
		return 0;
	if (def && agent_from_json(&row, name, def, &cli->arena, e))
		return -1;
	if (there && same_agent(&row, &known))
		return 0;
	if (there && !is_bare(&known))
		return err_set(e, ERR_CONFLICT,
			       "agent '%s' already exists with a different "
			       "definition, which is kept",
			       name);
	return agent_store(cli, &row, e) ? -1 : 1;
}

/* As for a command that works on the agent (cli/needs.c). */
static int agent_file_row(void *arg, const char *agent,
			  struct agent_database_row *row, struct arena *a,
			  struct err *e)
{
	struct cli *cli = arg;
	int found = registry_find(cli->control, agent, row, a, e);

	if (found)
		return found < 0 ? -1 : 0;
	if (!cli->supervised)
		return registry_make(cli->control, &cli->home, agent, row, a,
				     e);
	if (cli_call(cli, "POST", agent_url(cli, agent, "/file"), NULL, NULL,
		     e) < 0)
		return -1;
	found = registry_find(cli->control, agent, row, a, e);
	return found > 0   ? 0
	       : found < 0 ? -1
			   : err_set(e, ERR_INTERNAL,
				     "the supervisor did not create a database "
				     "for agent '%s'",
				     agent);
}

/* --- the ledger ------------------------------------------------------------------------ */

static int store_run(struct cli *cli, void *arg, struct err *e)
{
	return control_import(cli->control, arg, e);
}

static int store_source(struct cli *cli, void *arg, struct err *e)
{
	return sql_exec(cli->control, Q_IMPORT_ITEM_PUT, arg, e) < 0 ? -1 : 0;
}

static int store_removed(struct cli *cli, void *arg, struct err *e)
{
	return sql_exec(cli->control, Q_IMPORT_ITEM_REMOVED, arg, e) < 0 ? -1
									 : 0;
}

static int send(struct cli *cli, const char *path, const struct shape *shape,
		void *row, int (*direct)(struct cli *, void *, struct err *),
		struct err *e)
{
	struct buf body = BUF_MAX(1u << 20);
	struct cli_act act = {
		.method = "POST", .path = path, .direct = direct, .arg = row};
	int rc;

	json_add_shape(&body, shape, row);
	act.body = body.p;
	rc = buf_ok(&body, path, e) ? -1 : cli_act(cli, &act, e);
	buf_fini(&body);
	return rc;
}

static int put_run(void *arg, struct import_run_row *row, struct err *e)
{
	return send(arg, "/v1/imports", &import_run_row_shape, row, store_run,
		    e);
}

static int put_source(void *arg, struct import_item_row *row, struct err *e)
{
	return send(arg, "/v1/imports/items", &import_item_row_shape, row,
		    store_source, e);
}

static int put_removed(void *arg, const char *path, const char *where,
		       struct err *e)
{
	struct import_item_removed_in in = {path, where};

	return send(arg, "/v1/imports/removed", &import_item_removed_in_shape,
		    &in, store_removed, e);
}

struct import_writer import_cli_host(struct cli *cli)
{
	return (struct import_writer){
		.arg = cli,
		.agent = put_agent,
		.file = agent_file_row,
		.run = put_run,
		.source = put_source,
		.removed = put_removed,
	};
}
