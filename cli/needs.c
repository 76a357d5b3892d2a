/* Opens what a command needs, and closes it. */
#include "cli/cli.h"

#include "cli/host/daemon.h"
#include "cli/session/session_find.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/http/client.h"
#include "lib/os/file.h"
#include "schema/agent/transcript/locator.h"
#include "schema/control/agent.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define SEEN_AGAIN_MS 60000 /* how old "last seen" may get */
#define MISSING_TRIES 50
#define MISSING_MS    20

static const unsigned implied[][2] = {
	{NEEDS_AGENT_MADE | NEEDS_AGENT_MAYBE, NEEDS_AGENT_FILE},
	{NEEDS_AGENT_FILE, NEEDS_CONTROL_WRITE},
	{NEEDS_SUPERVISOR, NEEDS_CONTROL_READ},
	{NEEDS_CONTROL_MADE, NEEDS_CONTROL_WRITE},
	{NEEDS_CONTROL_WRITE, NEEDS_CONTROL_READ},
	{NEEDS_CONTROL_READ, NEEDS_CONFIG},
	{NEEDS_CONFIG, NEEDS_HOME},
};

static unsigned all_needs(unsigned needs)
{
	for (size_t i = 0; i < sizeof implied / sizeof implied[0]; i++)
		if (needs & implied[i][0])
			needs |= implied[i][1];
	return needs;
}

static int open_config(struct cli *cli, unsigned needs, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONFIG);
	char *rest = NULL, *line;

	if (config_load(&cli->config, path.text, e)) {
		if (!(needs & NEEDS_NO_SETTING))
			return -1;
		fprintf(stderr, "skep: warning: %s\n", e->text);
		config_fini(&cli->config);
		config_defaults(&cli->config);
	}
	for (line = strtok_r(cli->config.warnings.p, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		fprintf(stderr, "skep: warning: %s: %s\n", path.text, line);
	return 0;
}

/* Checks whether a supervisor runs before the file is opened in a way that
 * could change it. */
static int look_for_supervisor(struct cli *cli, const char *path, struct err *e)
{
	struct supervisor_row row;
	struct sql *db;
	int alive;

	if (!file_exists(path) || file_size(path) == 0)
		return 0;
	if (sql_open(&db, path, control_schema.queries, SQL_READONLY, e))
		return -1;
	alive = daemon_named(cli, db, &row, e);
	sql_close(db);
	if (alive < 0)
		return -1;
	cli->supervised = alive > 0;
	return 0;
}

/* A control plane that is missing while a supervisor runs was deleted or moved.
 * SQLite would create a new file and delete the log that is still in use. If
 * the supervisor is creating its first one, the command waits for it. */
static int missing(struct cli *cli, const char *path, struct err *e)
{
	for (int i = 0; i < MISSING_TRIES; i++) {
		if (file_exists(path) && file_size(path) > 0)
			return 0;
		if (!file_exists(cli->home.root) ||
		    daemon_nameless(cli, e) == 0)
			return 0;
		if (e->code != ERR_CONFLICT)
			return -1;
		poll(NULL, 0, MISSING_MS);
	}
	return -1;
}

/* A command that only reads can continue; changes fail with this error. */
static bool place_refused(const struct err *e)
{
	return e->code == ERR_FULL || e->code == ERR_READONLY;
}

static int open_control(struct cli *cli, unsigned needs, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONTROL_DB);
	unsigned flags = needs & NEEDS_CONTROL_MADE ? SQL_CREATE : 0;
	struct err why = {0};

	if (missing(cli, path.text, e))
		return -1;
	/* a file that is not a database of skep, or newer, is rejected by
	 * control_open with a better message */
	if (look_for_supervisor(cli, path.text, &why))
		cli->supervised = false;
	/* a control plane that a supervisor has lost must not be written
	 * either */
	if (!cli->supervised && daemon_in_place(cli, e))
		return -1;
	if (cli->supervised || !(needs & NEEDS_CONTROL_WRITE)) {
		if (!control_open(&cli->control, &cli->home, SQL_READONLY, e))
			return 0;
		if (cli->supervised || e->code != ERR_VERSION)
			return -1;
		/* an older schema: reading needs the new columns too */
		flags = 0;
	}
	if (!control_open(&cli->control, &cli->home, flags, e))
		return 0;
	if (flags & SQL_CREATE || !place_refused(e) ||
	    control_open(&cli->control, &cli->home, SQL_READONLY, &why))
		return -1;
	cli->read_only = true;
	return 0;
}

int cli_open_control(struct cli *cli, struct err *e)
{
	return open_control(cli, NEEDS_CONTROL_WRITE, e);
}

int cli_make_control(struct cli *cli, struct err *e)
{
	return open_control(cli, NEEDS_CONTROL_WRITE | NEEDS_CONTROL_MADE, e);
}

/* A SESSION that is a locator names the agent too. */
static int take_locator(struct cli *cli, const char **agent, struct err *e)
{
	struct locator *l;

	if (cli->args.nwords == 0 || strncmp(cli->args.words[0], LOCATOR_SCHEME,
					     strlen(LOCATOR_SCHEME)) != 0)
		return 0;
	l = arena_alloc(&cli->arena, sizeof *l);
	if (locator_parse(cli->args.words[0], l, e))
		return -1;
	if (*agent && strcmp(*agent, l->agent) != 0)
		return err_set(e, ERR_USAGE,
			       "--agent %s contradicts the locator, which "
			       "names agent %s",
			       *agent, l->agent);
	*agent = l->agent;
	cli->args.words[0] = l->session;
	return 0;
}

/* The first argument is AGENT[:NAMESPACE]; ":NAMESPACE" is the default agent's. */
static void take_word(struct cli *cli, const char **agent)
{
	struct args *a = &cli->args;
	const char *word = a->nwords ? a->words[0] : NULL;
	const char *colon = word ? strchr(word, ':') : NULL;
	size_t n;

	if (!word)
		return;
	n = colon ? (size_t)(colon - word) : strlen(word);
	if (n)
		*agent = arena_textn(&cli->arena, word, n);
	cli->namespace = colon ? colon + 1 : NULL;
	a->words++;
	a->nwords--;
}

/* A session is found in the files of all agents. */
static bool names_session(const struct cli *cli)
{
	size_t n;
	const char *spec;

	if (!cli->args.nwords || cli->args.command->needs & NEEDS_AGENT_MADE)
		return false;
	spec = args_placeholder(&cli->args, 0, &n);
	return n == 7 && !strncmp(spec, "SESSION", n);
}

/* Reads the definition files of the agent first, so that changes take
 * effect. */
static int name_agent(struct cli *cli, struct err *e)
{
	const char *name = cli_option(cli, "agent");
	struct agent_row row;

	if (cli->args.command->needs & NEEDS_AGENT_WORD)
		take_word(cli, &name);
	else if (take_locator(cli, &name, e))
		return -1;
	if (!name && names_session(cli) &&
	    session_find_agent(cli, cli_arg(cli, 0), &name, e))
		return -1;
	if (!name) {
		if (agents_get_default(cli->control, &row, &cli->arena, e))
			return -1;
		name = row.name;
	}
	if (text_check_name("agent", name, e))
		return -1;
	cli->agent_name = name;
	if (cli->supervised || cli->read_only)
		return 0;
	return agents_sync(cli->control, &cli->home, name, e) < 0 ? -1 : 0;
}

int cli_make_file(struct cli *cli, struct err *e)
{
	struct agent_row row;
	char path[128];
	int found;

	if (agents_get(cli->control, cli->agent_name, &row, &cli->arena, e))
		return -1;
	if (!cli->supervised)
		return registry_make(cli->control, &cli->home, cli->agent_name,
				     &cli->file, &cli->arena, e);
	snprintf(path, sizeof path, "/v1/agents/%s/file", cli->agent_name);
	if (cli_call(cli, "POST", path, NULL, NULL, e) < 0)
		return -1;
	found = registry_find(cli->control, cli->agent_name, &cli->file,
			      &cli->arena, e);
	if (found == 0)
		return err_set(e, ERR_INTERNAL,
			       "the supervisor did not create a database for "
			       "agent '%s'",
			       cli->agent_name);
	return found < 0 ? -1 : 0;
}

static int open_agent_file(struct cli *cli, struct err *e)
{
	struct err ignored;

	if (!registry_open(&cli->file, 0, &cli->agent, e))
		return 0;
	if (!place_refused(e))
		return -1;
	return registry_open(&cli->file, SQL_READONLY, &cli->agent, &ignored);
}

static int open_agent(struct cli *cli, unsigned needs, struct err *e)
{
	struct agent_row row;
	int found;

	if (name_agent(cli, e))
		return -1;
	found = registry_find(cli->control, cli->agent_name, &cli->file,
			      &cli->arena, e);
	if (found < 0)
		return -1;
	if (!found && needs & NEEDS_AGENT_MADE && cli_make_file(cli, e))
		return -1;
	if (!found && !(needs & NEEDS_AGENT_MADE)) {
		if (agents_get(cli->control, cli->agent_name, &row, &cli->arena,
			       e))
			return -1;
		if (needs & NEEDS_AGENT_MAYBE)
			return 0;
		return err_set(e, ERR_NOTFOUND,
			       "agent '%s' has no data yet; its first run "
			       "creates its database",
			       cli->agent_name);
	}
	return open_agent_file(cli, e);
}

int cli_open(struct cli *cli, struct err *e)
{
	unsigned needs = all_needs(cli->args.command->needs);

	if (needs & NEEDS_HOME &&
	    home_find(&cli->home, cli_option(cli, "home"), e))
		return -1;
	if (needs & NEEDS_CONFIG && open_config(cli, needs, e))
		return -1;
	if (needs & NEEDS_CONTROL_READ && open_control(cli, needs, e))
		return -1;
	if (needs & NEEDS_SUPERVISOR && !cli->supervised)
		return err_set(
			e, ERR_UNAVAILABLE,
			"no supervisor is running for %s; 'skep up' starts "
			"one",
			cli->home.root);
	if (needs & NEEDS_CONTROL_READ && cli_resolve(cli, e))
		return -1;
	if (needs & NEEDS_AGENT_FILE && open_agent(cli, needs, e))
		return -1;
	return 0;
}

int cli_open_next(struct cli *cli, struct err *e)
{
	unsigned needs = all_needs(cli->args.command->needs);

	if (!(needs & NEEDS_AGENT_FILE))
		return 0;
	agent_file_close(&cli->agent);
	cli->agent = (struct agent_file){.db = NULL};
	return open_agent(cli, needs, e);
}

/* Sizes in the registry are approximate. A failure here does not fail the
 * command. */
static void note_seen(struct cli *cli)
{
	struct agent_database_row was = cli->file;
	struct err ignored;

	if (cli->supervised || (file_size(was.path) == was.bytes &&
				clock_now() - was.last_seen_at < SEEN_AGAIN_MS))
		return;
	if (!control_enter_alone(cli->control, &ignored))
		(void)sql_leave(
			cli->control,
			registry_seen(cli->control, &cli->file, &ignored),
			&ignored);
}

void cli_close(struct cli *cli, bool did_it)
{
	if (cli->agent.db && did_it)
		note_seen(cli);
	http_client_close(cli->http);
	agent_file_close(&cli->agent);
	sql_close(cli->control);
	config_fini(&cli->config);
}
