#include "worker/driver/chat/chat.h"

#include "schema/agent/transcript/branch.h"

#include <stdint.h>
#include <string.h>

#define COMPACTIONS 4            /* in a row, without an answer in between */
#define SUMMARY_MAX (32u << 10)  /* bytes */
#define SHOWN_MAX   (192u << 10) /* of the text to be summarized */
#define SHOWN_LEAST 1024
#define LINE_MAX_   2000
#define SHORT_MAX   300  /* the same, without a model */
#define INPUT_MAX   200  /* of the arguments of a tool */
#define BEFORE_MAX  8000 /* of an earlier summary */
#define NOTE_MAX    64   /* "(N messages omitted)" */
#define TOKEN_BYTES 4.0  /* in most languages, including JSON syntax */

static size_t size_of(const struct chat_item *it)
{
	size_t n = strlen(it->text) + 64;

	for (int i = 0; i < it->ncalls; i++) {
		const struct chat_past_call *c = &it->calls[i];

		n += strlen(c->input) + 128;
		n += c->output ? strlen(c->output) : 0;
	}
	return n;
}

/* Counts the items from the n-th on. An answer is before messages that are
 * older than it and that its request did not contain (history.h). */
static int64_t least_seq(const struct chat_history *h, int n)
{
	int64_t least = INT64_MAX;

	for (int i = n; i < h->n; i++)
		if (h->items[i].seq < least)
			least = h->items[i].seq;
	return least;
}

/* How many of the oldest items are removed: half of the total size. The last
 * one stays, and so does an answer whose later messages stay. */
static int how_many(const struct chat_history *h)
{
	size_t all = 0, gone = 0;
	int n = 0;

	for (int i = 0; i < h->n; i++)
		all += size_of(&h->items[i]);
	while (n < h->n - 1 && gone * 2 < all)
		gone += size_of(&h->items[n++]);
	while (n > 0 && least_seq(h, n) < h->items[n - 1].seq)
		n--;
	return n;
}

/* An estimate that the count of the server corrects. A wrong one costs a
 * summary, or a request that the server rejects. */
static int64_t tokens_of(const struct chat *x, size_t bytes)
{
	double each = x->token_bytes > 0 ? x->token_bytes : TOKEN_BYTES;

	return (int64_t)((double)bytes / each);
}

/* Limited: some servers do not count cached tokens. */
void chat_learn_tokens(struct chat *x, int64_t tokens)
{
	double each = tokens > 0 ? (double)x->request_bytes / (double)tokens
				 : 0;

	if (each >= TOKEN_BYTES / 4 && each <= TOKEN_BYTES * 2)
		x->token_bytes = each;
}

bool chat_is_too_long(const struct chat *x, const struct chat_history *h,
		      size_t bytes, int64_t *tokens)
{
	const struct chat_limits *l = &x->config.limits;

	*tokens = tokens_of(x, bytes);
	return l->context > 0 && how_many(h) > 0 &&
	       x->compactions<COMPACTIONS && * tokens + l->max_output_tokens> l
		       ->context;
}

/* Shortens the text to a line, and the whole to a quarter of `max`. */
static void format_item(struct buf *b, const struct chat_item *it, size_t line,
			size_t max)
{
	struct buf all = BUF_MAX(SIZE_MAX / 2);

	buf_adds(&all, it->by_user ? "User: " : "Assistant: ");
	buf_add_fit(&all, it->text, line);
	for (int i = 0; i < it->ncalls; i++) {
		buf_addf(&all, "\nTool %s ", it->calls[i].name);
		buf_add_fit(&all, it->calls[i].input, INPUT_MAX);
	}
	buf_add_fit(b, all.p, max / 4);
	buf_addc(b, '\n');
	buf_fini(&all);
}

static size_t item_size(const struct chat_item *it, size_t line, size_t max)
{
	struct buf b = BUF_MAX(max);
	size_t n;

	format_item(&b, it, line, max);
	n = b.n;
	buf_fini(&b);
	return n;
}

/* The first n items. Those that do not fit into b are omitted, with a note: not
 * the first, which has the task, and not the newest. */
static void add_items(struct buf *b, const struct chat_history *h, int n,
		      size_t line)
{
	size_t used = b->n + item_size(&h->items[0], line, b->max) + NOTE_MAX;
	int from = n;

	while (from > 1) {
		used += item_size(&h->items[from - 1], line, b->max);
		if (used > b->max)
			break;
		from--;
	}
	format_item(b, &h->items[0], line, b->max);
	if (from > 1)
		buf_addf(b, "(%d messages omitted)\n", from - 1);
	for (int i = from; i < n; i++)
		format_item(b, &h->items[i], line, b->max);
}

/* Used if no model can be asked: the beginning of each item. */
static void add_short(struct buf *out, const struct chat_history *h, int n)
{
	struct buf b = BUF_MAX(SUMMARY_MAX);

	if (h->summary) {
		buf_add_fit(&b, h->summary, BEFORE_MAX);
		buf_addc(&b, '\n');
	}
	add_items(&b, h, n, SHORT_MAX);
	buf_add(out, b.p, b.n);
	buf_fini(&b);
}

/* Half of the limit: the request also contains tools and an answer. */
static size_t room(const struct chat *x)
{
	double bytes = (double)x->config.limits.context / 2 * TOKEN_BYTES;

	return bytes <= 0 || bytes > SHOWN_MAX ? SHOWN_MAX
	       : bytes < SHOWN_LEAST           ? SHOWN_LEAST
					       : (size_t)bytes;
}

/* Asks the model itself, without tools, about a text that certainly fits. 1: the
 * run ends. */
static int ask_model(struct chat *x, const struct chat_history *h, int n,
		     struct buf *out, struct err *e)
{
	struct chat_item one = {.by_user = true};
	struct chat_history alone = {.items = &one, .n = 1};
	struct buf shown = BUF_MAX(room(x)), body = BUF_MAX(1u << 20);
	struct chat_result result = {0};
	struct chat_turn turn;
	int rc;

	buf_adds(&shown, "Summarize this conversation for yourself, so that "
			 "you can continue without it: the task, findings "
			 "and decisions, finished and open steps.\n\n");
	if (h->summary) {
		buf_adds(&shown, "Before: ");
		buf_add_fit(&shown, h->summary,
			    room(x) / 2 < BEFORE_MAX ? room(x) / 2
						     : BEFORE_MAX);
		buf_addc(&shown, '\n');
	}
	add_items(&shown, h, n, LINE_MAX_);
	one.text = shown.p;
	chat_turn_init(&turn);
	rc = chat_request(x, &alone, &body, e) ? -1
					       : chat_reserve(x, body.n, e);
	if (rc == 0)
		rc = chat_http_exchange(x->http,
					&(struct chat_exchange){.run = x->run,
								.body = &body,
								.turn = &turn},
					&result, e);
	if (rc == 0 && result.outcome == CHAT_ANSWERED) {
		buf_add_fit(out, turn.text.p, SUMMARY_MAX);
		rc = chat_store_usage(x, &turn, e);
	}
	chat_turn_fini(&turn);
	buf_fini(&shown);
	buf_fini(&body);
	return rc;
}

int chat_compact(struct chat *x, const struct chat_history *h, const char *why,
		 struct err *e)
{
	struct buf summary = BUF_MAX(2 * SUMMARY_MAX);
	struct compaction_new c = {
		.tokens_before = tokens_of(x, x->request_bytes),
		.tokens_after = OPT_NONE};
	struct event_ref ref;
	int n = how_many(h), rc;

	if (n == 0 || x->compactions++ >= COMPACTIONS)
		return chat_end(x, REASON_context_full, "%s", why);
	rc = ask_model(x, h, n, &summary, e);
	if (rc > 0) { /* a budget ended the run */
		buf_fini(&summary);
		return 0;
	}
	if (rc == 0 && summary.n == 0)
		add_short(&summary, h, n);
	if (rc == 0) {
		c.upto = least_seq(h, n) - 1;
		c.summary = summary.p;
		rc = session_compact(&x->run->transcript.writer, &c, &ref, e);
		transcript_changed(&x->run->transcript);
	}
	buf_fini(&summary);
	return rc;
}
