#include "supervisor/api/openai/deltas.h"

#include <string.h>

#include "lib/json/json.h"

/* Separates messages by an empty line, and lines of output by a line break. */
static void add_text(struct openai_deltas *d, int64_t seq, bool is_output,
		     const char *more)
{
	if (!more || !*more)
		return;
	if (d->text_seq && is_output && d->is_output)
		d->text(d->arg, "\n");
	else if (d->text_seq && d->text_seq != seq)
		d->text(d->arg, "\n\n");
	d->text_seq = seq;
	d->is_output = is_output;
	d->text(d->arg, more);
}

static void add_event(struct openai_deltas *d, const struct event *ev)
{
	bool is_output = strcmp(ev->type, "output") == 0;
	struct err ignored;
	cJSON *body;
	const char *content;

	if (!is_output && strcmp(ev->type, "message") != 0)
		return;
	body = json_parse_object("body", ev->body, strlen(ev->body), &ignored);
	content = json_text(body, "text", json_text(body, "content", NULL));
	if (is_output ||
	    !strcmp(json_text(body, "role", "assistant"), "assistant"))
		add_text(d, ev->seq, is_output, content);
	cJSON_Delete(body);
}

static void begin_activity(struct openai_deltas *d)
{
	if (d->has_activity)
		d->activity(d->arg, "\n\n");
	d->has_activity = true;
}

static void add_activity(struct openai_deltas *d, const struct tail_item *item)
{
	const struct tail_part *p = item->part;

	if (!d->activity)
		return;
	if (item->is_new)
		begin_activity(d);
	if (strcmp(p->kind, "reasoning") == 0) {
		if (p->text && *p->text)
			d->activity(d->arg, p->text);
	} else if (item->is_new) {
		d->activity(d->arg, "Using ");
		d->activity(d->arg, p->name ? p->name : "a tool");
	}
}

void openai_deltas_item(struct openai_deltas *d, const struct tail_item *item)
{
	if (item->event)
		add_event(d, item->event);
	else if (strcmp(item->part->kind, "text") == 0)
		add_text(d, item->seq, false, item->part->text);
	else if (strcmp(item->part->kind, "reasoning") == 0 ||
		 strcmp(item->part->kind, "tool") == 0)
		add_activity(d, item);
}
