#include "cli/run/fold_view.h"

#include "lib/json/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define LINE_MAX_BYTES (64u << 10)
#define LINE_COLUMNS   120 /* where there is no terminal */
#define INPUT_SHARE    2   /* of the line, if there is a result too */

/* --- lines and text ----------------------------------------------------- */

static int note_columns(const struct fold_view *v)
{
	return v->cli->out.width ? v->cli->out.width - 1 : LINE_COLUMNS;
}

void fold_end_line(struct fold_view *v)
{
	if (!v->mid_line)
		return;
	fputc('\n', v->cli->out.to);
	v->mid_line = false;
}

static void write_note_line(struct fold_view *v, enum output_style style,
			    const char *text)
{
	FILE *to = v->to_error ? stderr : v->cli->out.to;
	bool colour = v->cli->out.colour;

	fold_end_line(v);
	if (v->to_error)
		(void)fflush(v->cli->out.to);
	fprintf(to, "%s%s%s\n", colour ? output_style(&v->cli->out, style) : "",
		text, colour ? output_style(&v->cli->out, STYLE_PLAIN) : "");
}

static void fold_note(struct fold_view *v, enum output_style style,
		      const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fold_note(struct fold_view *v, enum output_style style,
		      const char *fmt, ...)
{
	struct buf b = BUF_MAX(LINE_MAX_BYTES), safe = BUF_MAX(LINE_MAX_BYTES);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	output_safe(&safe, b.p, b.n, false);
	write_note_line(v, style, safe.p);
	buf_fini(&b);
	buf_fini(&safe);
}

static void write_text(struct fold_view *v, const char *p, size_t n)
{
	struct buf b = BUF_MAX(6 * n + 16);

	if (n == 0 || v->no_text)
		return;
	if (v->raw && !v->cli->out.width)
		buf_add(&b, p, n);
	else
		output_safe(&b, p, n, true);
	fwrite(b.p, 1, b.n, v->cli->out.to);
	v->mid_line = p[n - 1] != '\n';
	v->wrote = true;
	buf_fini(&b);
}

/* --- tool calls --------------------------------------------------------- */

/* A value in short: a text as it is, an object with one text as this text. */
static void add_short(struct buf *b, const char *json)
{
	cJSON *v = cJSON_Parse(json);
	const cJSON *only = cJSON_IsObject(v) && v->child && !v->child->next
				    ? v->child
				    : v;

	if (cJSON_IsString(only))
		output_safe(b, only->valuestring, strlen(only->valuestring),
			    false);
	else if (v)
		output_safe(b, json, strlen(json), false);
	cJSON_Delete(v);
}

/* Adds one line that describes a tool call: the name, the input and, unless
 * NULL, the output; at most `width` columns. */
static void fold_call_line(struct buf *b, const char *name, const char *input,
			   const char *output, int width)
{
	struct buf in = BUF_MAX(1u << 30), out = BUF_MAX(1u << 30);
	int left;

	output_safe(b, name, strlen(name), false);
	if (input)
		add_short(&in, input);
	if (output)
		add_short(&out, output);
	left = width - output_columns(b->p, b->n) - (out.n ? 5 : 1);
	if (in.n && left > 0) {
		buf_addc(b, ' ');
		output_cut(b, in.p, out.n ? left / INPUT_SHARE : left);
	}
	left = width - output_columns(b->p, b->n) - 3;
	if (out.n && left > 0) {
		buf_adds(b, " → ");
		output_cut(b, out.p, left);
	}
	buf_fini(&in);
	buf_fini(&out);
}

/* True at the first call for this part. */
static bool is_first_report(struct fold_view *v, int64_t seq, int64_t idx)
{
	int64_t key = seq << 16 | (idx & 0xffff);

	for (int i = 0; i < v->ncalls && i < FOLD_CALLS; i++)
		if (v->calls[i] == key)
			return false;
	v->calls[v->ncalls++ % FOLD_CALLS] = key;
	return true;
}

static void print_call(struct fold_view *v, const struct tail_item *item)
{
	const struct tail_part *p = item->part;
	bool failed = !strcmp(p->state, "error"),
	     aborted = !strcmp(p->state, "aborted");
	struct buf line = BUF_MAX(LINE_MAX_BYTES);

	if (!v->notes || (!failed && !aborted && strcmp(p->state, "done") != 0))
		return;
	if (!is_first_report(v, item->seq, p->idx))
		return;
	buf_adds(&line, failed ? "✗ " : aborted ? "- " : "● ");
	fold_call_line(&line, p->name ? p->name : "tool", p->input,
		       p->output  ? p->output
		       : *p->text ? p->text
				  : NULL,
		       note_columns(v));
	write_note_line(v, failed ? STYLE_BAD : STYLE_DIM, line.p);
	buf_fini(&line);
}

/* --- events ------------------------------------------------------------- */

static void print_part(struct fold_view *v, const struct tail_item *item)
{
	const struct tail_part *p = item->part;

	if (!strcmp(p->kind, "tool")) {
		print_call(v, item);
	} else if (!strcmp(p->kind, "file") && item->is_new && v->notes) {
		fold_note(v, STYLE_DIM, "[file %s]", p->name ? p->name : "");
	} else if (!strcmp(p->kind, "text")) {
		if (item->seq == v->user_seq && !v->prompts)
			return;
		if (item->seq != v->text_seq)
			fold_end_line(v);
		v->text_seq = item->seq;
		write_text(v, p->text, strlen(p->text));
		if (!strcmp(p->state, "done"))
			fold_end_line(v);
	}
}

static void print_message(struct fold_view *v, const struct event *ev,
			  const cJSON *body)
{
	const char *role = json_text(body, "role", "");
	const char *text = json_text(body, "content",
				     json_text(body, "text", NULL));
	bool user = !strcmp(role, "user");

	if (user)
		v->user_seq = ev->seq;
	if (!text || (user && !v->prompts))
		return;
	if (user) {
		fold_note(v, STYLE_HEAD, "> %s", text);
		return;
	}
	fold_end_line(v);
	write_text(v, text, strlen(text));
	fold_end_line(v);
}

static void print_finish(struct fold_view *v, const cJSON *body)
{
	const char *outcome = json_text(body, "outcome", "ended");
	const char *detail = json_text(body, "detail", "");
	bool good = !strcmp(outcome, "succeeded");

	fold_note(v, good ? STYLE_GOOD : STYLE_BAD, "%s %s%s%s",
		  good ? "✓" : "✗", outcome, *detail ? ": " : "", detail);
}

static void print_attempt(struct fold_view *v, const cJSON *body)
{
	int64_t attempt = json_i64(body, "attempt", 1);

	if (attempt > 1)
		fold_note(v, STYLE_DIM, "attempt %" PRId64, attempt);
}

static bool is_end(const char *type)
{
	return !strcmp(type, "run_finished") || !strcmp(type, "cancelled");
}

static void print_event(struct fold_view *v, const struct event *ev)
{
	cJSON *body = cJSON_Parse(ev->body);
	const char *text = json_text(body, "content",
				     json_text(body, "text", ""));

	if (!strcmp(ev->type, "message")) {
		print_message(v, ev, body);
	} else if (!strcmp(ev->type, "output")) {
		fold_end_line(v);
		write_text(v, text, strlen(text));
		fold_end_line(v);
	} else if (!v->notes) {
		; /* only the text */
	} else if (!strcmp(ev->type, "stderr")) {
		fold_note(v, STYLE_DIM, "%s", text);
	} else if (!strcmp(ev->type, "run_started")) {
		print_attempt(v, body);
	} else if (is_end(ev->type) && v->prompts) {
		print_finish(v, body);
	} else if (!strcmp(ev->type, "steer")) {
		fold_note(v, STYLE_HEAD, "> %s", text);
	}
	cJSON_Delete(body);
}

void fold_item(struct fold_view *v, const struct tail_item *item)
{
	if (item->part)
		print_part(v, item);
	else
		print_event(v, item->event);
}
