#include "cli/run/event_view.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/tail_json.h"

#include <inttypes.h>
#include <string.h>

#define PAGE     64
#define VIEW_MAX (512u << 20)

static void add_event_json(struct buf *b, const struct event *ev,
			   const struct part_row *parts, int n)
{
	struct event_view v = event_view_of(ev);

	json_begin_object(b);
	json_put_fields(b, &event_view_shape, &v);
	json_put_array(b, "parts");
	for (int i = 0; i < n; i++) {
		const struct part_row *p = &parts[i];
		struct part_view pv = {p->idx,   p->kind,    p->state,
				       p->name,  p->call_id, p->text,
				       p->input, p->output,  p->meta};

		json_add_shape(b, &part_view_shape, &pv);
	}
	json_end_array(b);
	json_end_object(b);
	buf_addc(b, '\n');
}

/* The text in a body: "content" or "text", else the JSON itself. */
static void add_body(struct buf *b, const char *body)
{
	cJSON *v = cJSON_Parse(body);
	const char *text = json_text(v, "content", json_text(v, "text", NULL));
	bool only_role = cJSON_IsObject(v) && v->child && !v->child->next &&
			 !strcmp(v->child->string, "role");

	if (text)
		output_safe(b, text, strlen(text), true);
	else if (v && v->child && !only_role)
		output_safe(b, body, strlen(body), false);
	if ((text && *text) || (v && v->child && !only_role && !text))
		buf_addc(b, '\n');
	cJSON_Delete(v);
}

static void add_head(struct cli *cli, struct buf *b, const struct event *ev)
{
	cJSON *v = cJSON_Parse(ev->body);
	const char *role = json_text(v, "role", NULL);
	char at[CLOCK_TEXT];

	clock_text(ev->at, at);
	buf_addf(b, "%s%" PRId64 "  ", output_style(&cli->out, STYLE_HEAD),
		 ev->seq);
	output_safe(b, ev->type, strlen(ev->type), false);
	if (role) {
		buf_addc(b, ' ');
		output_safe(b, role, strlen(role), false);
	}
	buf_addf(b, "%s  %s%.10s %.8s%s\n",
		 output_style(&cli->out, STYLE_PLAIN),
		 output_style(&cli->out, STYLE_DIM), at, at + 11,
		 output_style(&cli->out, STYLE_PLAIN));
	cJSON_Delete(v);
}

static void add_labelled(struct buf *b, const char *label, const char *text)
{
	if (!text)
		return;
	buf_addf(b, "  %s ", label);
	output_safe(b, text, strlen(text), false);
	buf_addc(b, '\n');
}

static void append_part(struct buf *b, const struct part_row *p)
{
	if (strcmp(p->kind, "text") != 0 || strcmp(p->state, "done") != 0) {
		buf_addf(b, "  [%s %s", p->kind, p->state);
		if (p->name) {
			buf_addc(b, ' ');
			output_safe(b, p->name, strlen(p->name), false);
		}
		buf_adds(b, "]\n");
	}
	output_safe(b, p->text, strlen(p->text), true);
	if (*p->text)
		buf_addc(b, '\n');
	add_labelled(b, "in ", p->input);
	add_labelled(b, "out", p->output);
}

static int event_print(struct cli *cli, const struct event *ev, struct err *e)
{
	struct buf b = BUF_MAX(VIEW_MAX);
	struct part_row *parts = NULL;
	struct arena a = {0};
	int n = part_read(&cli->agent, event_pos(ev->session, ev->seq), &parts,
			  &a, e);

	if (n >= 0 && cli->out.json) {
		add_event_json(&b, ev, parts, n);
	} else if (n >= 0) {
		add_head(cli, &b, ev);
		add_body(&b, ev->body);
		for (int i = 0; i < n; i++)
			append_part(&b, &parts[i]);
	}
	fwrite(b.p, 1, b.n, cli->out.to);
	buf_fini(&b);
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

static void print_part_text(struct buf *b, const struct tail_item *item)
{
	const struct tail_part *p = item->part;
	bool is_text = !strcmp(p->kind, "text");

	if (item->is_new && !is_text) {
		buf_addf(b, "  [%s", p->kind);
		if (p->name) {
			buf_addc(b, ' ');
			output_safe(b, p->name, strlen(p->name), false);
		}
		buf_adds(b, "]\n");
	}
	output_safe(b, p->text, strlen(p->text), true);
	if (!is_text && item->has_values) {
		add_labelled(b, "in ", p->input);
		add_labelled(b, "out", p->output);
	}
	if (is_text && !strcmp(p->state, "done"))
		buf_addc(b, '\n');
}

void event_print_new(struct cli *cli, const struct tail_item *item)
{
	struct buf b = BUF_MAX(VIEW_MAX);

	if (cli->out.json) {
		tail_item_line(&b, item);
	} else if (item->part) {
		print_part_text(&b, item);
	} else {
		add_head(cli, &b, item->event);
		add_body(&b, item->event->body);
	}
	fwrite(b.p, 1, b.n, cli->out.to);
	buf_fini(&b);
}

int event_print_all(struct cli *cli, const struct history *h, int64_t after,
		    struct err *e)
{
	struct arena a = {0};
	struct page p = {.more = true};
	int rc = 0;

	while (!rc && p.more && !ferror(cli->out.to)) {
		arena_reset(&a);
		rc = history_forward(&cli->agent, h, after, PAGE, &p, &a, e);
		for (int i = 0; !rc && i < p.count; i++)
			rc = event_print(cli, &p.events[i], e);
		if (!rc && p.count > 0)
			after = p.events[p.count - 1].seq;
	}
	arena_fini(&a);
	return rc;
}
