#include "worker/driver/chat/history.h"

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "schema/agent/transcript/part.h"

#include <stdint.h>
#include <string.h>

#define PAGE 256
#define NOT_ALLOWED                                                       \
	"The tool was not allowed, so it was not run: no permission was " \
	"given before the run ended."

/* State of a read. */
struct reading {
	struct chat_history *h;
	struct agent_file *file;
	const char *run;
	struct arena *a;
};

static struct chat_item *add_item(struct reading *r, const struct event *ev)
{
	struct chat_history *h = r->h;

	if (h->n == h->cap) {
		struct chat_item *old = h->items;

		h->cap = h->cap ? 2 * h->cap : 64;
		h->items = arena_alloc(r->a, (size_t)h->cap * sizeof *h->items);
		if (h->n > 0)
			memcpy(h->items, old, (size_t)h->n * sizeof *old);
	}
	h->items[h->n] = (struct chat_item){
		.seq = ev->seq,
		.of_run = ev->run && strcmp(ev->run, r->run) == 0,
		.text = ""};
	return &h->items[h->n++];
}

static bool is_aborted(const struct part_row *p)
{
	return strcmp(p->state, "aborted") == 0;
}

static bool is_tool(const struct part_row *p)
{
	return strcmp(p->kind, "tool") == 0;
}

/* Complete, but possibly with calls that were never executed. */
static bool is_whole(const struct part_row *rows, int n)
{
	for (int i = 0; i < n; i++)
		if (is_aborted(&rows[i]) &&
		    !(is_tool(&rows[i]) && rows[i].input))
			return false;
	return n > 0;
}

/* {"text": "…"}; for an aborted call {"error", "not_run"}. A later attempt of
 * the same run asks for permission again; for another run it is denied. */
static void take_output(struct chat_past_call *c, const struct part_row *p,
			bool of_run, struct arena *a)
{
	struct err ignored;
	cJSON *v = p->output ? json_parse("output", p->output,
					  strlen(p->output), &ignored)
			     : NULL;

	c->not_run = is_aborted(p) && json_i64(v, "not_run", 0) == 1;
	if (c->not_run && !of_run)
		c->output = NOT_ALLOWED;
	else if (!is_aborted(p) && p->output)
		c->output = arena_text(a, json_text(v, "text", p->output));
	cJSON_Delete(v);
}

static void take_parts(struct reading *r, struct chat_item *it,
		       const struct part_row *rows, int n, bool own)
{
	it->calls = arena_alloc(r->a, (size_t)(n + 1) * sizeof *it->calls);
	for (int i = 0; i < n; i++) {
		const struct part_row *p = &rows[i];
		struct chat_past_call *c;

		if (strcmp(p->kind, "text") == 0 && p->text)
			it->text = it->text[0] ? arena_printf(r->a, "%s%s",
							      it->text, p->text)
					       : p->text;
		if (own && strcmp(p->kind, "reasoning") == 0 && !it->state.from)
			chat_state_read(&it->state, p, r->a);
		if (!own || !is_tool(p) || !p->input)
			continue;
		c = &it->calls[it->ncalls++];
		*c = (struct chat_past_call){.id = p->call_id ? p->call_id : "",
					     .name = p->name ? p->name : "",
					     .input = p->input};
		take_output(c, p, it->of_run, r->a);
		chat_state_read(&c->state, p, r->a);
	}
}

/* Moves the last item before the messages that its request did not contain. */
static void put_before_unseen(struct chat_history *h, int64_t after)
{
	struct chat_item answer = h->items[h->n - 1];
	int i = h->n - 1;

	for (; i > 0 && h->items[i - 1].by_user && h->items[i - 1].of_run &&
	       h->items[i - 1].seq > after;
	     i--)
		h->items[i] = h->items[i - 1];
	h->items[i] = answer;
}

static int take_assistant(struct reading *r, const struct event *ev,
			  const cJSON *body, struct err *e)
{
	bool own = cJSON_HasObjectItem(body, "turn");
	const char *content = json_text(body, "content", NULL);
	struct part_row *rows;
	struct chat_item *it;
	int n;

	if (content) {
		add_item(r, ev)->text = arena_text(r->a, content);
		return 0;
	}
	n = part_read(r->file, ev->session << 32 | ev->seq, &rows, r->a, e);
	if (n < 0)
		return -1;
	if (!is_whole(rows, n))
		return 0;
	it = add_item(r, ev);
	take_parts(r, it, rows, n, own);
	if (!it->text[0] && it->ncalls == 0 && !own)
		r->h->n--; /* a tool of another driver */
	else if (own)
		put_before_unseen(r->h, json_i64(body, "after", INT64_MAX));
	return 0;
}

static void take_result(struct reading *r, const cJSON *body)
{
	const char *id = json_text(body, "call_id", "");

	for (int i = r->h->n - 1; i >= 0; i--)
		for (int k = 0; k < r->h->items[i].ncalls; k++) {
			struct chat_past_call *c = &r->h->items[i].calls[k];

			if (strcmp(c->id, id) == 0 && !c->output)
				c->output = arena_text(
					r->a, json_text(body, "text", ""));
		}
}

static int take_event(struct reading *r, const struct event *ev, struct err *e)
{
	bool message = strcmp(ev->type, "message") == 0;
	bool steer = strcmp(ev->type, "steer") == 0;
	bool result = strcmp(ev->type, "tool_result") == 0;
	const char *role;
	struct err bad;
	cJSON *body;
	int rc = 0;

	if (!message && !steer && !result)
		return 0;
	body = json_parse_object("event", ev->body, strlen(ev->body), &bad);
	if (!body) { /* stored by an older program; the model can do without
		      * it */
		log_warn(LT("msg", "an event cannot be read"),
			 LI("seq", ev->seq), LT("error", bad.text));
		return 0;
	}
	role = json_text(body, "role", steer ? "user" : "");
	if (result) {
		take_result(r, body);
	} else if (strcmp(role, "assistant") == 0) {
		rc = take_assistant(r, ev, body, e);
	} else if (strcmp(role, "user") == 0) {
		struct chat_item *it = add_item(r, ev);

		it->by_user = true;
		it->text = arena_text(
			r->a, json_text(body, steer ? "text" : "content", ""));
	}
	cJSON_Delete(body);
	return rc;
}

int chat_history_load(struct chat_history *h, struct agent_file *f,
		      int64_t session, const char *run, struct arena *a,
		      struct err *e)
{
	struct reading r = {h, f, run, a};
	struct history events;
	struct page page = {.more = true};
	int64_t after = 0;

	*h = (struct chat_history){0};
	if (history_load(f, session, HISTORY_MODEL, &events, a, e))
		return -1;
	h->summary = events.summary;
	while (page.more) {
		if (history_forward(f, &events, after, PAGE, &page, a, e))
			return -1;
		for (int i = 0; i < page.count; i++)
			if (take_event(&r, &page.events[i], e))
				return -1;
		if (page.count == 0)
			break;
		after = page.events[page.count - 1].seq;
	}
	return 0;
}

int64_t chat_history_last_seq(const struct chat_history *h)
{
	int64_t last = 0;

	for (int i = 0; i < h->n; i++)
		if (h->items[i].seq > last)
			last = h->items[i].seq;
	return last;
}

struct chat_item *chat_history_unsettled(const struct chat_history *h)
{
	for (int i = h->n - 1; i >= 0 && h->items[i].of_run; i--)
		for (int k = 0; k < h->items[i].ncalls; k++)
			if (!h->items[i].calls[k].output)
				return &h->items[i];
	return NULL;
}
