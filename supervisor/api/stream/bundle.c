/* One client that receives several streams over one connection: a browser may
 * open only a few connections to a host. The events name their subject. */
#include <stdlib.h>

#include "supervisor/api/stream/internal.h"

struct stream_bundle {
	struct http_stream *http;
	struct subscriber *first; /* linked by .bundled */
};

static void on_writable(void *arg)
{
	struct stream_bundle *b = arg;

	for (struct subscriber *s = b->first; s; s = s->bundled)
		subscriber_writable(s);
}

static void on_closed(void *arg)
{
	struct stream_bundle *b = arg;

	for (struct subscriber *s = b->first, *after; s; s = after) {
		after = s->bundled;
		subscriber_closed(s);
	}
	free(b);
}

struct stream_bundle *bundle_open(struct http_reply *reply)
{
	static const struct http_stream_ops ops = {on_writable, on_closed};
	struct stream_bundle *b = calloc(1, sizeof *b);

	if (!b)
		abort();
	b->http = http_reply_stream(reply, &ops, b);
	return b;
}

void bundle_add(struct stream_bundle *b, struct subscriber *s)
{
	s->bundle = b;
	s->bundled = b->first;
	s->http = b->http;
	b->first = s;
}

void bundle_drop(struct subscriber *s)
{
	struct stream_bundle *b = s->bundle;
	struct subscriber **at = &b->first;

	while (*at != s)
		at = &(*at)->bundled;
	*at = s->bundled;
	if (b->first)
		return;
	http_stream_end(b->http);
	free(b);
}

void bundle_fail(struct stream_bundle *b, const struct err *e)
{
	subscriber_send_error(b->http, e);
}
