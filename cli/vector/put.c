#include "cli/cli.h"

#include "schema/agent/search/vector_search.h"

#include <inttypes.h>
#include <string.h>

#define INPUT_MAX (256u << 20)
#define BATCH     256 /* in a transaction */

#define STORED(F, S) F(S, text, session) F(S, text, model) F(S, i64, vectors)
SHAPE_DECLARE(vectors_stored, STORED);
SHAPE_DEFINE(vectors_stored, STORED);

static int put_line(struct cli *cli, const char *line, size_t n, struct err *e)
{
	struct embedding_put p = {.session = cli_arg(cli, 0),
				  .model = cli_option(cli, "model")};
	struct arena a = {0};
	cJSON *v = json_parse_object("vector", line, n, e);
	int rc = -1;

	p.seq = json_i64(v, "seq", 0);
	if (v && p.seq < 1)
		err_set(e, ERR_INVALID,
			"\"seq\" must be the number of an event, at least 1");
	else if (v &&
		 embedding_parse(cJSON_GetObjectItemCaseSensitive(v, "vector"),
				 &p.v, &p.dim, &a, e) == 0)
		rc = embedding_put(&cli->agent, &p, e);
	cJSON_Delete(v);
	arena_fini(&a);
	return rc;
}

/* Handles a number of lines in one transaction; *p moves past them. */
static int put_some(struct cli *cli, const char **p, const char *end,
		    int64_t *line, struct err *e)
{
	for (int i = 0; i < BATCH && *p < end; i++) {
		const char *nl = memchr(*p, '\n', (size_t)(end - *p));
		size_t n = (size_t)((nl ? nl : end) - *p);

		++*line;
		if (n > 0 && put_line(cli, *p, n, e))
			return err_wrap(e, "line %" PRId64, *line);
		*p += n + 1;
	}
	return 0;
}

static int put_all(struct cli *cli, const struct buf *b, int64_t *line,
		   struct err *e)
{
	const char *p = b->p, *end = b->p + b->n;
	struct progress bar;
	int rc = 0;

	progress_begin(&bar, &cli->out, "storing", (int64_t)b->n);
	while (rc == 0 && p < end) {
		rc = sql_enter(cli->agent.db, e);
		if (rc == 0)
			rc = sql_leave(cli->agent.db,
				       put_some(cli, &p, end, line, e), e);
		progress_at(&bar, p - b->p);
	}
	progress_end(&bar);
	return rc;
}

static int run_vector_put(struct cli *cli, struct err *e)
{
	const char *path = cli_arg(cli, 1) ? cli_arg(cli, 1) : "-";
	struct vectors_stored out = {.session = cli_arg(cli, 0),
				     .model = cli_option(cli, "model")};
	struct buf b = BUF_MAX(INPUT_MAX);
	int rc = 0;

	if (!out.model)
		rc = err_set(e, ERR_USAGE,
			     "--model is required: the model that "
			     "computed the vectors");
	if (rc == 0)
		rc = cli_read(path, &b, e);
	if (rc == 0)
		rc = put_all(cli, &b, &out.vectors, e);
	buf_fini(&b);
	if (rc == 0)
		output_result(&cli->out, &vectors_stored_shape, &out,
			      "stored %" PRId64
			      " vectors of model %s for session %s",
			      out.vectors, out.model, out.session);
	return rc;
}

const struct command cmd_vector_put = {
	.name = "vector put",
	.args = "SESSION [FILE]",
	.help = "store embeddings of the events of a session",
	.about = "Each line is an object such as "
		 "{\"seq\":7,\"vector\":[0.1,-2]}. A vector replaces "
		 "the one that the event already has for this model. "
		 "Numbers are stored as float32, and all vectors of a "
		 "model have the same length.",
	.needs = NEEDS_AGENT_FILE,
	.arguments = ARGUMENTS(
		{"FILE", "file to read (default: standard input)"}),
	.options = OPTIONS(OPTION(TEXT, 'm', "model", "MODEL",
				  "model that computed the vectors")),
	.run = run_vector_put,
};
