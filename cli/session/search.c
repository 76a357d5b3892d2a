#include "cli/index_view.h"

#include <string.h>

#define HIT(F, S)           \
	F(S, text, session) \
	F(S, i64, seq)      \
	F(S, text, type)    \
	F(S, time, at) F(S, f64, score) F(S, text, snippet) F(S, text, sid)
SHAPE_DECLARE(hit_view, HIT);
SHAPE_DEFINE(hit_view, HIT);

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

static int session_search(struct cli *cli, struct err *e)
{
	struct search s = {.query = cli_words(cli, 0),
			   .flags = flags_of(cli),
			   .session = cli_option(cli, "session"),
			   .type = cli_option(cli, "type"),
			   .skip = cli_count(cli, "skip", 0),
			   .count = cli_count(cli, "limit", 20)};
	struct search_hit *hits = NULL;
	struct index_view view;
	struct table *t;
	int n = 0;

	index_view_begin(&view, cli, "events");
	s.watch = &view.watch;
	if (cli->agent.db)
		n = search_run(&cli->agent, &s, &hits, &cli->arena, e);
	index_view_end(&view);
	if (n < 0)
		return -1;
	t = table_new(&cli->out, &hit_view_shape,
		      "session seq type at snippet");
	for (int i = 0; i < n; i++) {
		struct hit_view v = {
			hits[i].key,   hits[i].seq,
			hits[i].type,  hits[i].at,
			hits[i].score, cli_trimmed(cli, hits[i].snippet),
			hits[i].sid};

		table_add(t, &v);
	}
	table_end(t);
	return 0;
}

const struct command cmd_session_search = {
	.name = "session search",
	.args = "WORD...",
	.help = "find words in transcripts, best first",
	.about = "All words must be there; \"words in quotes\" side by side; "
		 "word* is a beginning.",
	.needs = NEEDS_AGENT_MAYBE,
	.options =
		(const struct option_spec[]){
			{"session", "KEY", "only in this session", OPTION_TEXT},
			{"type", "TYPE", "only in events of this type",
			 OPTION_TEXT},
			{"newest", NULL, "newest first", OPTION_FLAG},
			{"hidden", NULL, "also what was rewound", OPTION_FLAG},
			{"archived", NULL, "also archived sessions",
			 OPTION_FLAG},
			{"advanced", NULL, "WORD... is an FTS5 expression",
			 OPTION_FLAG},
			{"skip", "N", "pass over the first so many",
			 OPTION_INT},
			{"limit", "N", "at most so many (20)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = session_search,
};
