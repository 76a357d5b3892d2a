#include "cli/run/run_view.h"

#include "cli/run/event_view.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/agent/watch.h"
#include "schema/control/agent.h"
#include "schema/control/registry.h"
#include "schema/control/run.h"
#include "schema/control/severity.h"

#include <poll.h>
#include <string.h>

#define POLL_MS 250 /* whether the run is over, or has begun */

int run_view_get(struct cli *cli, const char *id, struct run_row *row,
		 struct err *e)
{
	struct run_get_in key = {id};
	int found = sql_get(cli->control, Q_RUN_GET, &key, row, &cli->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run '%s'",
			       quoted(id).text);
	if (found > 0)
		run_classify_from_outside(row, cli->supervised);
	return found < 0 ? -1 : 0;
}

/* Returns 1 if the run is over, 0 if not, or -1. */
static int is_over(struct cli *cli, const struct run_view *v, struct err *e)
{
	struct run_get_in key = {v->id};
	struct arena a = {0};
	struct run_row row;
	int found = sql_get(cli->control, Q_RUN_GET, &key, &row, &a, e);

	if (found == 0)
		found = err_set(e, ERR_NOTFOUND, "there is no run '%s'",
				quoted(v->id).text);
	else if (found > 0)
		found = run_state_is_over(
			(enum run_state)run_state_from(row.state));
	if (found == 0 && v->tick && v->tick(v->tick_arg, &row, e))
		found = -1;
	arena_fini(&a);
	return found;
}

static int print_item(void *arg, const struct tail *t,
		      const struct tail_item *item)
{
	(void)t;
	event_print_new(arg, item);
	return 0;
}

/* Prints all available events. */
static int print_new_events(struct cli *cli, const struct run_view *v,
			    struct tail *t, struct err *e)
{
	tail_fn *print = v->print ? v->print : print_item;
	void *arg = v->print ? v->print_arg : cli;
	int more;

	do
		more = tail_read(t, &cli->agent, print, arg, e);
	while (more > 0);
	return more < 0 || output_end(&cli->out, e) ? -1 : 0;
}

/* The file of an agent that was purged is gone, but not its runs. */
static int check_purged(struct cli *cli, const struct run_row *row,
			struct err *e)
{
	struct agent_row agent;

	if (row->attempt == 0 ||
	    agents_get(cli->control, row->agent, &agent, &cli->arena, e) == 0)
		return 0;
	if (e->code != ERR_NOTFOUND)
		return -1;
	return err_set(e, ERR_NOTFOUND,
		       "the transcript of run %s was deleted: agent '%s' was "
		       "purged",
		       row->id, row->agent);
}

int run_view_open_file(struct cli *cli, const char *agent, struct err *e)
{
	int found;

	if (cli->agent.db && !strcmp(cli->file.agent, agent))
		return 1;
	agent_file_close(&cli->agent);
	cli->agent = (struct agent_file){.db = NULL};
	found = registry_find(cli->control, agent, &cli->file, &cli->arena, e);
	if (found == 1 &&
	    registry_open(&cli->file, SQL_READONLY, &cli->agent, e))
		return -1;
	return found;
}

/* Checks whether the run is over before reading, so that no event is missed. */
static int read_to_end(struct cli *cli, const struct run_view *v,
		       const char *agent, struct tail *t, struct err *e)
{
	struct follow f = {.fd = -1};
	int over = 0, rc = 0;

	while (rc == 0 && !over && !ferror(cli->out.to)) {
		int open = run_view_open_file(cli, agent, e);

		if (open == 1 && f.fd < 0 && v->follow)
			rc = follow_open(&f, sql_path(cli->agent.db), e);
		over = v->follow ? is_over(cli, v, e) : 1;
		if (open < 0 || over < 0)
			rc = -1;
		if (rc == 0 && open == 1)
			rc = print_new_events(cli, v, t, e);
		if (rc || over)
			break;
		if (f.fd >= 0)
			rc = follow_wait(&f, POLL_MS, e) < 0 ? -1 : 0;
		else
			poll(NULL, 0, POLL_MS);
	}
	if (f.fd >= 0)
		follow_close(&f);
	return rc;
}

/* If no events are printed, the agent file is not opened and not watched: the
 * kernel takes 10 ms and more to remove a watch. The row is read again after a
 * sixteenth of the elapsed time. */
static int wait_to_end(struct cli *cli, const struct run_view *v, struct err *e)
{
	int64_t began = clock_mono_ns(), ms;
	int over;

	while ((over = is_over(cli, v, e)) == 0) {
		ms = (clock_mono_ns() - began) / 16000000;
		poll(NULL, 0, ms < 1 ? 1 : ms < POLL_MS ? (int)ms : POLL_MS);
	}
	return over < 0 ? -1 : 0;
}

int run_view_print(struct cli *cli, const struct run_view *v, struct err *e)
{
	struct tail_options want = {.run = v->id, .after = v->after};
	struct run_row row;
	struct tail *t;
	int rc;

	if (run_view_get(cli, v->id, &row, e))
		return -1;
	if (v->quiet && v->follow)
		return wait_to_end(cli, v, e);
	rc = run_view_open_file(cli, row.agent, e);
	if (rc < 0 || (rc == 0 && check_purged(cli, &row, e)))
		return -1;
	want.session = row.session;
	if (tail_open(&t, &want, e))
		return -1;
	rc = read_to_end(cli, v, row.agent, t, e);
	tail_close(t);
	return rc;
}

int run_view_outcome(struct cli *cli, const char *id, struct err *e)
{
	static const struct {
		const char *state;
		enum err_code code;
	} codes[] = {{"cancelled", ERR_CANCELED}, {"timed_out", ERR_TIMEOUT}};
	enum err_code code = ERR_FAILED;
	struct run_row row;

	if (run_view_get(cli, id, &row, e))
		return -1;
	if (!strcmp(row.state, "succeeded"))
		return 0;
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (!strcmp(row.state, codes[i].state))
			code = codes[i].code;
	return err_set(e, code, "run %s %s: %s%s%s", id, row.state, row.reason,
		       row.detail ? ", " : "", row.detail ? row.detail : "");
}
