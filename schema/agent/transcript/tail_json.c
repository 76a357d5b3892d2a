#include "schema/agent/transcript/tail_json.h"

#include "lib/json/json.h"

SHAPE_DEFINE(event_view, EVENT_VIEW);
SHAPE_DEFINE(part_view, PART_VIEW);

struct event_view event_view_of(const struct event *ev)
{
	return (struct event_view){ev->seq, ev->id,  ev->type, ev->parent,
				   ev->at,  ev->run, ev->key,  ev->body};
}

static void add_part(struct buf *b, const struct tail_item *item)
{
	const struct tail_part *p = item->part;
	struct part_view v = {p->idx,
			      p->kind,
			      p->state,
			      p->name,
			      p->call_id,
			      p->text,
			      item->has_values ? p->input : NULL,
			      item->has_values ? p->output : NULL,
			      item->has_values ? p->meta : NULL};

	json_begin_object(b);
	json_put_int(b, "seq", item->seq);
	json_put_int(b, "from", item->at);
	json_key(b, "part");
	json_add_shape(b, &part_view_shape, &v);
	json_end_object(b);
}

void tail_item_line(struct buf *b, const struct tail_item *item)
{
	if (item->part) {
		add_part(b, item);
	} else {
		struct event_view v = event_view_of(item->event);

		json_add_shape(b, &event_view_shape, &v);
	}
	buf_addc(b, '\n');
}
