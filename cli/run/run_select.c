#include "cli/run/run_select.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "schema/control/lists.h"

#include <stdlib.h>
#include <string.h>

bool run_select_given(const struct cli *cli)
{
	return cli_option(cli, "agent") || cli_option(cli, "tag") ||
	       cli_option(cli, "state") || cli_option(cli, "older");
}

struct id_list {
	const char **id;
	int n, cap;
};

static void add_id(struct id_list *l, const char *id)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->id = realloc(l->id, (size_t)l->cap * sizeof *l->id);
		if (!l->id)
			abort();
	}
	l->id[l->n++] = id;
}

/* Runs of one state, or of all. */
static int add_state(struct cli *cli, const char *state, struct id_list *l,
		     struct err *e)
{
	int64_t older = cli_number(cli, "older", 0);
	struct id limit = id_at(ID_RUN, clock_now() - older);
	struct run_filter filter = {
		.agent = cli_option(cli, "agent"),
		.state = state,
		.tag = cli_option(cli, "tag"),
		.before = cli_option(cli, "older") ? limit.text : "~",
		.count = INT64_MAX,
	};
	struct run_row row;
	struct lists it;

	if (lists_open(&it, cli->control, LISTS_RUNS, &filter, e))
		return -1;
	while (lists_next(&it, &row))
		add_id(l, arena_text(&cli->arena, row.id));
	return lists_close(&it, e);
}

static int add_states(struct cli *cli, const char *states, struct id_list *l,
		      struct err *e)
{
	char *list = arena_text(&cli->arena, states), *rest = NULL;

	for (char *one = strtok_r(list, " ", &rest); one;
	     one = strtok_r(NULL, " ", &rest))
		if (add_state(cli, one, l, e))
			return -1;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int select_by_options(struct cli *cli, const char *states,
			     struct id_list *l, struct err *e)
{
	const char *given = cli_option(cli, "state");
	int rc;

	if (!run_select_given(cli))
		return err_set(e, ERR_USAGE,
			       "name a run, or select runs by --agent, --tag, "
			       "--state or --older");
	rc = given || !states ? add_state(cli, given, l, e)
			      : add_states(cli, states, l, e);
	if (rc == 0 && l->n == 0)
		rc = err_set(e, ERR_NOTFOUND, "no run matches%s%s",
			     given || !states ? "" : "; considered are states ",
			     given || !states ? "" : states);
	if (l->n > 1)
		qsort(l->id, (size_t)l->n, sizeof *l->id, compare_ids);
	return rc;
}

static int take_named(struct cli *cli, int nwords, struct id_list *l,
		      struct err *e)
{
	if (run_select_given(cli))
		return err_set(e, ERR_USAGE,
			       "name runs or select them by options, not both");
	for (int i = 0; i < nwords; i++)
		add_id(l, cli_arg(cli, i));
	return 0;
}

int run_select(struct cli *cli, int nwords, const char *states,
	       struct run_ids *out, struct err *e)
{
	struct id_list l = {NULL, 0, 0};
	int rc = nwords > 0 ? take_named(cli, nwords, &l, e)
			    : select_by_options(cli, states, &l, e);

	*out = (struct run_ids){NULL, l.n};
	if (l.n) {
		out->id = arena_alloc(&cli->arena,
				      (size_t)l.n * sizeof *out->id);
		memcpy(out->id, l.id, (size_t)l.n * sizeof *out->id);
	}
	free(l.id);
	return rc;
}

int run_each(struct cli *cli, const struct run_ids *runs,
	     int (*fn)(struct cli *cli, const char *id, struct err *e),
	     struct err *e)
{
	struct err later;
	int rc = 0;

	for (int i = 0; i < runs->n; i++) {
		if (fn(cli, runs->id[i], rc ? &later : e) == 0)
			continue;
		if (rc)
			cli_report(cli, &later);
		rc = -1;
	}
	return rc;
}
