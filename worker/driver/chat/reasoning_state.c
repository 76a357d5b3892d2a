#include "worker/driver/chat/reasoning_state.h"

#include <string.h>

void chat_state_write(const struct chat_turn *t, const char *from,
		      struct buf *out)
{
	cJSON *details = chat_turn_details(t);

	if (t->field || details || t->items || t->extra) {
		json_begin_object(out);
		json_put_text(out, "from", from);
		json_put_text(out, "field", t->field);
		json_put_text(out, "list", details ? t->list : NULL);
		json_put(out, "details", details);
		json_put(out, "items", t->items);
		json_put(out, "extra", t->extra);
		json_end_object(out);
	}
	cJSON_Delete(details);
}

void chat_state_write_call(const struct chat_call *c, const char *from,
			   struct buf *out)
{
	if (!c->extra)
		return;
	json_begin_object(out);
	json_put_text(out, "from", from);
	json_put(out, "extra", c->extra);
	json_end_object(out);
}

/* A member as JSON text, or NULL. */
static const char *json_of(const cJSON *v, const char *name, struct arena *a)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(v, name);
	struct buf b = BUF_MAX(4 * CHAT_TEXT_MAX);
	const char *text = NULL;

	if (m)
		json_add(&b, m);
	if (m && !b.over)
		text = arena_text(a, b.p);
	buf_fini(&b);
	return text;
}

static void read_items(struct chat_state *s, const cJSON *list, struct arena *a)
{
	const cJSON *m;

	s->items = arena_alloc(a, (size_t)(cJSON_GetArraySize(list) + 1) *
					  sizeof *s->items);
	cJSON_ArrayForEach(m, list)
	{
		const char *json = json_of(m, "item", a);

		if (json)
			s->items[s->nitems++] = (struct chat_state_item){
				json_i64(m, "before", 0), json};
	}
}

void chat_state_read(struct chat_state *s, const struct part_row *p,
		     struct arena *a)
{
	struct err ignored;
	cJSON *v = p->meta ? json_parse_object("meta", p->meta, strlen(p->meta),
					       &ignored)
			   : NULL;

	*s = (struct chat_state){.reasoning = p->text};
	s->from = arena_text(a, json_text(v, "from", NULL));
	s->field = arena_text(a, json_text(v, "field", NULL));
	s->list = arena_text(a, json_text(v, "list", NULL));
	s->details = json_of(v, "details", a);
	s->extra = json_of(v, "extra", a);
	read_items(s, cJSON_GetObjectItemCaseSensitive(v, "items"), a);
	cJSON_Delete(v);
}
