#include "lib/json/sse.h"

#include <assert.h>
#include <string.h>

#include "lib/base/text.h"

static bool one_line(const char *s)
{
	return !strpbrk(s, "\r\n");
}

static void add_field(struct buf *b, const char *name, const char *p, size_t n)
{
	buf_adds(b, name);
	buf_add(b, p, n);
	buf_addc(b, '\n');
}

void sse_format(struct buf *b, const struct sse_event *ev)
{
	const char *p = ev->data;
	const char *end = ev->data + ev->n;

	if (ev->id) {
		assert(one_line(ev->id));
		add_field(b, "id: ", ev->id, strlen(ev->id));
	}
	if (ev->event) {
		assert(one_line(ev->event));
		add_field(b, "event: ", ev->event, strlen(ev->event));
	}
	for (;;) {
		const char *eol = p;

		while (eol < end && *eol != '\n' && *eol != '\r')
			eol++;
		add_field(b, "data: ", p, (size_t)(eol - p));
		if (eol == end)
			break;
		p = eol + (eol[0] == '\r' && eol + 1 < end && eol[1] == '\n') +
		    1;
	}
	buf_addc(b, '\n');
}

void sse_format_comment(struct buf *b, const char *text)
{
	assert(one_line(text));
	add_field(b, ": ", text, strlen(text));
	buf_addc(b, '\n');
}

void sse_parser_init(struct sse_parser *p, size_t max)
{
	*p = (struct sse_parser){.retry_ms = -1};
	buf_init(&p->line, max);
	buf_init(&p->data, max);
	buf_init(&p->event, max);
	buf_init(&p->id, max);
}

void sse_parser_fini(struct sse_parser *p)
{
	buf_fini(&p->line);
	buf_fini(&p->data);
	buf_fini(&p->event);
	buf_fini(&p->id);
}

static void forget_event(struct sse_parser *p)
{
	buf_clear(&p->data);
	buf_clear(&p->event);
	p->has_data = false;
}

void sse_parser_restart(struct sse_parser *p)
{
	buf_clear(&p->line);
	forget_event(p);
	p->saw_cr = false;
	p->started = false;
}

static void set_retry(struct sse_parser *p, const char *value)
{
	struct err ignored;
	int64_t ms;

	if (*value && strspn(value, "0123456789") == strlen(value) &&
	    text_i64("retry", value, 0, 3600000, &ms, &ignored) == 0)
		p->retry_ms = (int)ms;
}

/* One "name: value" line; an unknown name is not an error. */
static void take_field(struct sse_parser *p, char *line, size_t n)
{
	char *colon = memchr(line, ':', n);
	size_t name = colon ? (size_t)(colon - line) : n;
	const char *value = line + n;

	if (colon) {
		value = colon + 1;
		value += *value == ' ';
	}
	size_t len = (size_t)(line + n - value);
	bool text = !memchr(value, '\0', len); /* names and ids are C texts */

	if (name == 4 && memcmp(line, "data", 4) == 0) {
		if (p->has_data)
			buf_addc(&p->data, '\n');
		buf_add(&p->data, value, len);
		p->has_data = true;
	} else if (name == 5 && memcmp(line, "event", 5) == 0 && text) {
		buf_clear(&p->event);
		buf_add(&p->event, value, len);
	} else if (name == 2 && memcmp(line, "id", 2) == 0 && text) {
		buf_clear(&p->id);
		buf_add(&p->id, value, len);
	} else if (name == 5 && memcmp(line, "retry", 5) == 0) {
		set_retry(p, value);
	}
}

static int take_line(struct sse_parser *p,
		     int (*on_event)(void *arg, const struct sse_event *ev),
		     void *arg)
{
	int rc = 0;

	if (p->line.n) {
		take_field(p, p->line.p, p->line.n);
		buf_clear(&p->line);
		return 0;
	}
	if (p->has_data) {
		struct sse_event ev = {
			.id = p->id.p,
			.event = p->event.n ? p->event.p : "message",
			.data = p->data.p,
			.n = p->data.n,
		};

		rc = on_event(arg, &ev);
	}
	forget_event(p);
	return rc;
}

static const char bom[3] = {'\xef', '\xbb', '\xbf'};

/* The byte order mark can only be distinguished once the first line ends. */
static void drop_bom(struct sse_parser *p)
{
	if (!p->started && p->line.n >= 3 &&
	    memcmp(p->line.p, bom, sizeof bom) == 0)
		buf_drop(&p->line, sizeof bom);
	p->started = true;
}

int sse_parse(struct sse_parser *p, const char *bytes, size_t n,
	      int (*on_event)(void *arg, const struct sse_event *ev), void *arg,
	      struct err *e)
{
	const char *end = bytes + n;

	while (bytes < end) {
		const char *eol = bytes;

		if (p->saw_cr && *bytes == '\n') { /* second half of CRLF */
			p->saw_cr = false;
			bytes++;
			continue;
		}
		p->saw_cr = false;
		while (eol < end && *eol != '\n' && *eol != '\r')
			eol++;
		buf_add(&p->line, bytes, (size_t)(eol - bytes));
		if (buf_ok(&p->line, "a line of the event stream", e) ||
		    buf_ok(&p->data, "an event of the stream", e))
			return -1;
		if (eol == end)
			return 0;
		p->saw_cr = *eol == '\r';
		bytes = eol + 1;
		drop_bom(p);
		int rc = take_line(p, on_event, arg);

		if (rc)
			return rc;
	}
	return buf_ok(&p->data, "an event of the stream", e);
}
