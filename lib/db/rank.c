#include "lib/db/rank.h"

#include "lib/db/internal.h"

#include <math.h>

#define K1      1.2
#define B       0.75
#define IDF_MIN 1e-6 /* of a phrase in more than half of the rows */

/* Data that a query needs for each of its rows. */
struct weights {
	double average; /* tokens in a row */
	int phrases;
	double idf[]; /* of each phrase, then its frequency in a row */
};

struct sample {
	int64_t rows; /* with the phrase */
	int64_t span; /* rows that were scanned to find them */
	int64_t last;
};

static int count_row(const Fts5ExtensionApi *api, Fts5Context *ctx, void *arg)
{
	struct sample *s = arg;
	int64_t row = api->xRowid(ctx);

	s->span += s->rows && row >> 32 == s->last >> 32 ? row - s->last
							 : row & UINT32_MAX;
	s->last = row;
	return ++s->rows < RANK_SAMPLE ? SQLITE_OK : SQLITE_DONE;
}

static double rows_with(const struct sample *s, double total)
{
	double rows = (double)s->rows;

	if (s->rows < RANK_SAMPLE)
		return rows;
	return fmin(total, fmax(rows, total * rows / (double)s->span));
}

static int weigh(const Fts5ExtensionApi *api, Fts5Context *ctx,
		 struct weights *w)
{
	sqlite3_int64 rows = 0, tokens = 0;
	int rc = api->xRowCount(ctx, &rows);

	if (rc == SQLITE_OK)
		rc = api->xColumnTotalSize(ctx, -1, &tokens);
	w->average = rows ? (double)tokens / (double)rows : 1;
	for (int i = 0; i < w->phrases && rc == SQLITE_OK; i++) {
		struct sample s = {0};
		double with;

		rc = api->xQueryPhrase(ctx, i, &s, count_row);
		with = rows_with(&s, (double)rows);
		w->idf[i] = fmax(IDF_MIN, log(((double)rows - with + 0.5) /
					      (with + 0.5)));
	}
	return rc;
}

static int weights_of(const Fts5ExtensionApi *api, Fts5Context *ctx,
		      struct weights **out)
{
	int n = api->xPhraseCount(ctx), rc;
	struct weights *w = api->xGetAuxdata(ctx, 0);

	*out = w;
	if (w)
		return SQLITE_OK;
	w = sqlite3_malloc64(sizeof *w + 2 * (size_t)n * sizeof w->idf[0]);
	if (!w)
		return SQLITE_NOMEM;
	w->phrases = n;
	rc = weigh(api, ctx, w);
	if (rc != SQLITE_OK) {
		sqlite3_free(w);
		return rc;
	}
	*out = w;
	return api->xSetAuxdata(ctx, w, sqlite3_free);
}

static int score_row(const Fts5ExtensionApi *api, Fts5Context *ctx,
		     struct weights *w, double *score)
{
	double *frequency = w->idf + w->phrases;
	int found = 0, size = 0, rc = api->xInstCount(ctx, &found);

	for (int i = 0; i < w->phrases; i++)
		frequency[i] = 0;
	for (int i = 0; i < found && rc == SQLITE_OK; i++) {
		int phrase, column, offset;

		rc = api->xInst(ctx, i, &phrase, &column, &offset);
		if (rc == SQLITE_OK)
			frequency[phrase]++;
	}
	if (rc == SQLITE_OK)
		rc = api->xColumnSize(ctx, -1, &size);
	*score = 0;
	for (int i = 0; i < w->phrases; i++)
		*score -= w->idf[i] * frequency[i] * (K1 + 1) /
			  (frequency[i] + K1 * (1 - B + B * size / w->average));
	return rc;
}

static void rank(const Fts5ExtensionApi *api, Fts5Context *ctx,
		 sqlite3_context *out, int n, sqlite3_value **values)
{
	struct weights *w;
	double score = 0;
	int rc = weights_of(api, ctx, &w);

	(void)n, (void)values;
	if (rc == SQLITE_OK)
		rc = score_row(api, ctx, w, &score);
	if (rc == SQLITE_OK)
		sqlite3_result_double(out, score);
	else
		sqlite3_result_error_code(out, rc);
}

int sql_rank(struct sql *db, struct err *e)
{
	sqlite3_stmt *st = NULL;
	fts5_api *api = NULL;
	int rc;

	if (db->ranks)
		return 0;
	rc = sqlite3_prepare_v2(db->conn, "SELECT fts5(?1)", -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_pointer(st, 1, (void *)&api, "fts5_api_ptr",
					  NULL);
	if (rc == SQLITE_OK)
		(void)sqlite3_step(st);
	(void)sqlite3_finalize(st);
	if (rc == SQLITE_OK && !api)
		return err_set(e, ERR_UNSUPPORTED,
			       "this SQLite was built without FTS5");
	if (rc == SQLITE_OK)
		rc = api->xCreateFunction(api, "skep_rank", NULL, rank, NULL);
	if (rc != SQLITE_OK)
		return sql_fail(db, rc, "skep_rank", e);
	db->ranks = true;
	return 0;
}
