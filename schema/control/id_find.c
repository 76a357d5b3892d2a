#include "schema/control/id_find.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"
#include "schema/control_queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES 6 /* LIMIT of the queries */
#define SHOWN      5
#define COUNT_MAX  6 /* digits */

static const struct {
	enum id_kind kind;
	const char *one, *many, *list; /* for errors */
	unsigned query;
} kinds[] = {
	{ID_RUN, "run", "runs", "skep ps --all", Q_RUN_PREFIX},
	{ID_APPROVAL, "approval", "approvals", "skep approval ls --all",
	 Q_APPROVAL_PREFIX},
	{ID_DELIVERY, "delivery", "deliveries", "skep delivery ls",
	 Q_DELIVERY_PREFIX},
	{ID_INBOUND, "inbound message", "inbound messages", "skep inbound ls",
	 Q_INBOUND_PREFIX},
};

struct candidates {
	struct arena arena;
	struct found_id at[2 * CANDIDATES];
	int n;
};

static size_t kind_index(enum id_kind kind)
{
	size_t i = 0;

	while (kinds[i].kind != kind)
		i++;
	return i;
}

static int read_candidates(struct sql *db, unsigned query, const void *in,
			   struct candidates *c, struct err *e)
{
	struct sql_rows it = sql_rows(db, query, in);
	struct found_id row;

	while (c->n < 2 * CANDIDATES && sql_next(&it, &row))
		c->at[c->n++] = (struct found_id){
			arena_text(&c->arena, row.id),
			arena_text(&c->arena, row.label ? row.label : "")};
	return sql_end(&it, e);
}

static bool counts_from_newest(const char *word)
{
	size_t n = word[0] == '-' ? strspn(word + 1, "0123456789") : 0;

	return !strcmp(word, "last") ||
	       (n > 0 && n <= COUNT_MAX && !word[1 + n] && word[1] != '0');
}

/* A row counted from the newest. */
static int find_counted(struct sql *db, size_t kind, const char *word,
			struct candidates *c, struct err *e)
{
	const char *prefix = id_prefix(kinds[kind].kind);
	char high[8];
	struct id_range in = {prefix, high, 0};

	if (word[0] == '-')
		in.skip = strtol(word + 1, NULL, 10) - 1;
	text_printf(high, sizeof high, "%s~", prefix);
	if (read_candidates(db, kinds[kind].query, &in, c, e))
		return -1;
	c->n = c->n > 0; /* the first one is meant */
	return 0;
}

/* The characters that follow the prefix of the kind, or NULL. */
static const char *id_start(enum id_kind kind, const char *word)
{
	const char *prefix = id_prefix(kind);
	size_t n = strlen(prefix);

	if (!strncmp(word, prefix, n) && word[n] == '_')
		word += n + 1;
	return strlen(word) <= ID_BODY &&
			       strspn(word, "0123456789abcdefghijklmnopqrstuvwx"
					    "yz") == strlen(word)
		       ? word
		       : NULL;
}

static int find_prefix(struct sql *db, size_t kind, const char *word,
		       struct candidates *c, struct err *e)
{
	const char *start = id_start(kinds[kind].kind, word);
	char low[ID_SIZE], high[ID_SIZE + 1];
	struct id_range in = {low, high, 0};

	if (!start || !*start)
		return 0;
	text_printf(low, sizeof low, "%s_%s", id_prefix(kinds[kind].kind),
		    start);
	text_printf(high, sizeof high, "%s~", low);
	return read_candidates(db, kinds[kind].query, &in, c, e);
}

/* A run may have the name of an agent; then the word is ambiguous, unless both
 * mean the same run. */
static int find_named(struct sql *db, const char *word, struct candidates *c,
		      struct err *e)
{
	struct run_find_name_in name = {word};
	struct run_find_agent_in agent = {word};

	if (read_candidates(db, Q_RUN_FIND_NAME, &name, c, e) ||
	    read_candidates(db, Q_RUN_FIND_AGENT, &agent, c, e))
		return -1;
	if (c->n == 2 && !strcmp(c->at[0].id, c->at[1].id))
		c->n = 1;
	return 0;
}

static int ambiguous(size_t kind, const char *word, const struct candidates *c,
		     struct err *e)
{
	struct buf list = BUF_MAX(400);

	for (int i = 0; i < c->n && i < SHOWN; i++)
		buf_addf(&list, "%s%s (%s)", i ? ", " : "", c->at[i].id,
			 quoted(c->at[i].label).text);
	if (c->n > SHOWN)
		buf_adds(&list, ", …");
	err_set(e, ERR_USAGE, "'%s' is ambiguous; it matches the %s %s",
		quoted(word).text, kinds[kind].many, list.p);
	buf_fini(&list);
	return -1;
}

static int find_candidates(struct sql *db, size_t kind, const char *word,
			   struct candidates *c, struct err *e)
{
	int rc = 0;

	if (counts_from_newest(word))
		return find_counted(db, kind, word, c, e);
	if (kinds[kind].kind == ID_RUN)
		rc = find_named(db, word, c, e);
	if (rc == 0 && c->n == 0)
		rc = find_prefix(db, kind, word, c, e);
	return rc;
}

int id_find(struct sql *db, enum id_kind kind, const char *word, struct id *out,
	    struct err *e)
{
	struct candidates c = {.n = 0};
	size_t k = kind_index(kind);
	int rc = 0;

	if (id_is(kind, word)) {
		text_printf(out->text, sizeof out->text, "%s", word);
		return 0;
	}
	rc = find_candidates(db, k, word, &c, e);
	if (rc == 0 && c.n == 0)
		rc = err_set(e, ERR_NOTFOUND,
			     "there is no %s '%s'; '%s' lists them",
			     kinds[k].one, quoted(word).text, kinds[k].list);
	else if (rc == 0 && c.n > 1)
		rc = ambiguous(k, word, &c, e);
	else if (rc == 0)
		text_printf(out->text, sizeof out->text, "%s", c.at[0].id);
	arena_fini(&c.arena);
	return rc;
}
