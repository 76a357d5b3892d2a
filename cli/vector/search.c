#include "cli/list.h"

#include "schema/agent/search/vector_search.h"

#include <string.h>

#define INPUT_MAX (1u << 20)

#define EMBEDDING_VIEW(F, S) \
	F(S, text, session)  \
	F(S, i64, seq)       \
	F(S, f64, score) F(S, text, type) F(S, time, at) F(S, text, text)
SHAPE_DECLARE(embedding_view, EMBEDDING_VIEW);
SHAPE_DEFINE(embedding_view, EMBEDDING_VIEW);

static void print_hits(struct cli *cli, struct embedding_hit *hits, int n)
{
	bool json = cli->out.json;
	struct cli_list l = {.cli = cli,
			     .shape = json ? &embedding_hit_shape
					   : &embedding_view_shape,
			     .columns = json ? "session seq"
					     : "session seq score type at text",
			     .none = "no matches"};

	for (int i = 0; i < n; i++) {
		struct embedding_hit *h = &hits[i];
		cJSON *body = cJSON_Parse(h->body);
		const char *text = json_text(body, "content",
					     json_text(body, "text", h->body));
		struct embedding_view row = {h->session, h->seq, h->score,
					     h->type,    h->at,  text};

		cli_list_add(&l, json ? (void *)h : &row);
		cJSON_Delete(body);
	}
	cli_list_end(&l);
}

static int search_by_array(struct cli *cli, const cJSON *array, struct err *e)
{
	struct embedding_query query = {.model = cli_option(cli, "model"),
					.metric = cli_option(cli, "metric"),
					.session = cli_option(cli, "session"),
					.hidden = cli_flag(cli, "hidden"),
					.k = cli_count(cli, "limit", 10)};
	struct embedding_hit *hits;
	int n;

	if (embedding_parse(array, &query.v, &query.dim, &cli->arena, e))
		return -1;
	n = embedding_search(&cli->agent, &query, &hits, &cli->arena, e);
	if (n >= 0)
		print_hits(cli, hits, n);
	return n < 0 ? -1 : 0;
}

static int run_vector_search(struct cli *cli, struct err *e)
{
	const char *word = cli_arg(cli, 0);
	struct buf b = BUF_MAX(INPUT_MAX);
	cJSON *array = NULL;
	int rc = 0;

	if (!cli_option(cli, "model"))
		return err_set(e, ERR_USAGE,
			       "--model is required: the model that "
			       "computed the vector");
	if (word && strcmp(word, "-") != 0)
		buf_adds(&b, word);
	else
		rc = cli_read("-", &b, e);
	if (rc == 0)
		rc = buf_ok(&b, "the vector", e);
	if (rc == 0 && !(array = json_parse("the vector", b.p, b.n, e)))
		rc = -1;
	if (rc == 0)
		rc = search_by_array(cli, array, e);
	cJSON_Delete(array);
	buf_fini(&b);
	return rc;
}

const struct command cmd_vector_search = {
	.name = "vector search",
	.args = "[VECTOR]",
	.help = "find the events nearest to a vector",
	.about = "All vectors of the model are compared, so the "
		 "result is exact. Rewound events are not found.",
	.needs = NEEDS_AGENT_FILE,
	.arguments = ARGUMENTS(
		{"VECTOR", "an array such as [0.1,-2] (default: read standard "
			   "input)"}),
	.options = OPTIONS(OPTION(TEXT, 'm', "model", "MODEL",
				  "model that computed the vector"),
			   OPTION(WORD, 0, "metric", "cosine|dot",
				  "measure of similarity (default cosine)"),
			   OPTION(TEXT, 's', "session", "SESSION",
				  "search only this session"),
			   FLAG(0, "hidden", "search rewound events too"),
			   OPT_LIMIT("print at most N events (default 10)"),
			   OPT_LIST),
	.run = run_vector_search,
};
