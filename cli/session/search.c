#include "cli/index_view.h"
#include "cli/list.h"
#include "cli/session/session_find.h"
#include "schema/control/registry.h"

#include <stdlib.h>
#include <string.h>

#define HIT(F, S)           \
	F(S, text, session) \
	F(S, text, agent)   \
	F(S, i64, seq)      \
	F(S, text, type)    \
	F(S, time, at) F(S, f64, score) F(S, text, snippet) F(S, text, sid)
SHAPE_DECLARE(hit_view, HIT);
SHAPE_DEFINE(hit_view, HIT);

struct hits {
	struct hit_view *rows; /* on the heap; texts in the arena */
	int n, cap;
	struct search search;
};

static unsigned flags_of(const struct cli *cli)
{
	static const struct {
		const char *name;
		unsigned flag;
	} flags[] = {{"advanced", SEARCH_ADVANCED},
		     {"hidden", SEARCH_HIDDEN},
		     {"archived", SEARCH_ARCHIVED},
		     {"newest", SEARCH_NEWEST}};
	unsigned set = 0;

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (cli_flag(cli, flags[i].name))
			set |= flags[i].flag;
	return set;
}

static void add_hit(struct cli *cli, struct hits *h, const char *agent,
		    const struct search_hit *hit)
{
	if (h->n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 32;
		h->rows = realloc(h->rows, (size_t)h->cap * sizeof *h->rows);
		if (!h->rows)
			abort();
	}
	h->rows[h->n++] = (struct hit_view){hit->key,
					    agent,
					    hit->seq,
					    hit->type,
					    hit->at,
					    hit->score,
					    cli_trimmed(cli, hit->snippet),
					    hit->sid};
}

/* A search updates the index, so the file is opened for writing if possible. */
static int open_to_search(const struct agent_database_row *row,
			  struct agent_file *f, struct err *e)
{
	struct err ignored;

	if (!registry_open(row, 0, f, e))
		return 0;
	if (e->code != ERR_FULL && e->code != ERR_READONLY)
		return -1;
	return registry_open(row, SQL_READONLY, f, &ignored);
}

static int search_file(struct cli *cli, const struct agent_database_row *row,
		       void *arg, struct err *e)
{
	struct hits *h = arg;
	struct search_hit *hits = NULL;
	struct agent_file f;
	int n = 0;

	if (open_to_search(row, &f, e))
		return -1;
	if (cli_flag(cli, "rebuild"))
		n = search_rebuild(&f, e);
	if (n >= 0)
		n = search_run(&f, &h->search, &hits, &cli->arena, e);
	agent_file_close(&f);
	for (int i = 0; i < n; i++)
		add_hit(cli, h, row->agent, &hits[i]);
	return n < 0 ? -1 : 0;
}

static int best_first(const void *a, const void *b, void *newest)
{
	const struct hit_view *x = a, *y = b;

	if (*(bool *)newest)
		return (x->at < y->at) - (x->at > y->at);
	return (x->score < y->score) - (x->score > y->score);
}

/* Each agent yields its best matches up to the end of the page. */
static int session_search(struct cli *cli, struct err *e)
{
	const char *agent = cli_option(cli, "agent");
	int skip = cli_count(cli, "skip", 0),
	    count = cli_count(cli, "limit", 20);
	bool newest = cli_flag(cli, "newest");
	struct hits h = {.search = {.query = cli_words(cli, 0),
				    .flags = flags_of(cli),
				    .session = cli_option(cli, "session"),
				    .type = cli_option(cli, "type"),
				    .skip = agent ? skip : 0,
				    .count = agent ? count : skip + count}};
	struct index_view view;
	struct cli_list l = {
		.cli = cli,
		.shape = &hit_view_shape,
		.columns = agent ? "session seq type at snippet"
				 : "session agent seq type at snippet",
		.none = "no matches",
	};
	int rc;

	index_view_begin(&view, cli, "events");
	h.search.watch = &view.watch;
	rc = session_each_file(cli, agent, search_file, &h, e);
	index_view_end(&view);
	if (rc == 0 && !agent)
		qsort_r(h.rows, (size_t)h.n, sizeof *h.rows, best_first,
			&newest);
	for (int i = agent ? 0 : skip;
	     rc == 0 && i < h.n && i - (agent ? 0 : skip) < count; i++)
		cli_list_add(&l, &h.rows[i]);
	free(h.rows);
	if (rc == 0)
		cli_list_end(&l);
	return rc;
}

const struct command cmd_session_search = {
	.name = "session search",
	.args = "WORD...",
	.help = "search the transcripts, best match first",
	.about =
		"Without --agent, the search covers all agents. All words must "
		"occur. \"Words in quotes\" must be "
		"adjacent, and word* matches every word with this "
		"prefix.",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS({"WORD", "word to search for"}),
	.options = OPTIONS(
		OPT_AGENT("search only sessions of this agent"),
		OPTION(TEXT, 's', "session", "SESSION",
		       "search only this session"),
		OPTION(TEXT, 't', "type", "TYPE",
		       "search only events of this type"),
		FLAG(0, "newest", "sort by time, newest first"),
		FLAG(0, "hidden", "search rewound events too"),
		FLAG(0, "archived", "search archived sessions too"),
		FLAG(0, "advanced", "treat the words as an FTS5 expression"),
		FLAG(0, "rebuild",
		     "build the search index again first, if it is damaged"),
		OPTION(INT, 0, "skip", "N", "skip the first N matches"),
		OPT_LIMIT("print at most N matches (default 20)"), OPT_LIST),
	.run = session_search,
};
