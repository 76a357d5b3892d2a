#include "cli/index_view.h"
#include "cli/list.h"

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
	struct cli_list l = {
		.cli = cli,
		.shape = &hit_view_shape,
		.columns = "session seq type at snippet",
		.none = "no matches",
	};
	int n = 0;

	index_view_begin(&view, cli, "events");
	s.watch = &view.watch;
	if (cli->agent.db && cli_flag(cli, "rebuild"))
		n = search_rebuild(&cli->agent, e);
	if (cli->agent.db && n >= 0)
		n = search_run(&cli->agent, &s, &hits, &cli->arena, e);
	index_view_end(&view);
	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		struct hit_view v = {
			hits[i].key,   hits[i].seq,
			hits[i].type,  hits[i].at,
			hits[i].score, cli_trimmed(cli, hits[i].snippet),
			hits[i].sid};

		cli_list_add(&l, &v);
	}
	cli_list_end(&l);
	return 0;
}

const struct command cmd_session_search = {
	.name = "session search",
	.args = "WORD...",
	.help = "search the transcripts, best match first",
	.about = "All words must occur. \"Words in quotes\" must be "
		 "adjacent, and word* matches every word with this "
		 "prefix.",
	.needs = NEEDS_AGENT_MAYBE,
	.arguments = ARGUMENTS({"WORD", "word to search for"}),
	.options = OPTIONS(
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
		OPT_LIMIT("print at most N matches (default 20)")),
	.run = session_search,
};
