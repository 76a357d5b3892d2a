#include "cli/output.h"

#include "cli/terminal.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/home.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define NOTE_MAX   (1u << 16)
#define OBJECT_MAX (1u << 30)

/* Both are 0 if there is no terminal. */
static void measure_terminal(struct output *o)
{
	struct winsize w = {.ws_col = 0};

	if (!isatty(o->fd))
		return;
	(void)ioctl(o->fd, TIOCGWINSZ, &w);
	o->width = w.ws_col > 0 ? w.ws_col : 80;
	o->height = w.ws_row > 0 ? w.ws_row : 24;
}

void output_init(struct output *o, FILE *to, bool json, bool no_colour)
{
	const char *term = getenv("TERM"), *never = getenv("NO_COLOR");

	*o = (struct output){.to = to, .fd = fileno(to), .json = json};
	measure_terminal(o);
	if (o->width)
		o->to = terminal_filter(to);
	o->colour = o->width > 0 && !json && !no_colour && !(never && *never) &&
		    !(term && !strcmp(term, "dumb"));
}

int output_end(struct output *o, struct err *e)
{
	errno = 0;
	if (!fflush(o->to) && !ferror(o->to))
		return 0;
	if (errno == EPIPE)
		return 0;
	if (errno == 0) /* an earlier write failed; the reason is unknown */
		return err_set(e, ERR_IO, "cannot write the output");
	return err_errno_set(e, "writing output");
}

const char *output_style(const struct output *o, enum output_style s)
{
	static const char *const codes[] = {
		[STYLE_PLAIN] = "\033[0m", [STYLE_HEAD] = "\033[1m",
		[STYLE_GOOD] = "\033[32m", [STYLE_BAD] = "\033[31m",
		[STYLE_WARN] = "\033[33m", [STYLE_DIM] = "\033[2m",
	};

	return o->colour ? codes[s] : "";
}

void output_safe(struct buf *b, const char *p, size_t n, bool lines)
{
	while (n > 0) {
		size_t len = text_utf8_char(p, n);

		if (lines && (*p == '\n' || *p == '\t'))
			buf_addc(b, *p);
		else if (len > 0 && !terminal_acts_on(p, len))
			buf_add(b, p, len);
		else if (*p == '\n' || *p == '\t')
			buf_adds(b, *p == '\n' ? "\\n" : "\\t");
		else
			for (size_t i = 0; i < (len ? len : 1); i++)
				buf_addf(b, "\\x%02x", (unsigned char)p[i]);
		p += len ? len : 1;
		n -= len ? len : 1;
	}
}

int output_columns(const char *p, size_t n)
{
	int sum = 0;

	while (n > 0) {
		mbstate_t st = {0};
		wchar_t c = 0;
		size_t len = mbrtowc(&c, p, n, &st);
		int w = len == 0 || len > n ? 1 : wcwidth(c);

		if (len == 0 || len > n)
			len = 1;
		sum += w > 0 ? w : 0;
		p += len;
		n -= len;
	}
	return sum;
}

void output_cut(struct buf *b, const char *text, int width)
{
	size_t n = strlen(text), fit = 0;

	if (output_columns(text, n) <= width) {
		buf_adds(b, text);
		return;
	}
	while (fit < n) {
		size_t next = fit + 1;

		while (next < n && ((unsigned char)text[next] & 0xc0) == 0x80)
			next++;
		if (output_columns(text, next) > width - 1)
			break;
		fit = next;
	}
	buf_add(b, text, fit);
	buf_adds(b, "…");
}

static bool names_bytes(const char *name)
{
	size_t n = strlen(name);

	return n >= 5 && !strcmp(name + n - 5, "bytes");
}

static void add_time(struct buf *b, int64_t ms)
{
	char text[CLOCK_TEXT];

	clock_text(ms, text); /* 2026-11-16T03:16:00.123Z */
	buf_addf(b, "%.10s %.8s", text, text + 11);
}

void output_cell(struct buf *b, const struct field *f, const void *obj)
{
	const void *at = field_in(f, obj);
	const char *text;
	char human[TEXT_HUMAN];

	switch (f->type) {
	case FIELD_i64:
	case FIELD_opt:
	case FIELD_time:
		if (*(const field_opt *)at == OPT_NONE)
			buf_addc(b, '-');
		else if (f->type == FIELD_time)
			add_time(b, *(const field_time *)at);
		else if (names_bytes(f->name))
			buf_adds(b, text_human_bytes(*(const field_i64 *)at,
						     human));
		else
			buf_addf(b, "%" PRId64, *(const field_i64 *)at);
		break;
	case FIELD_bool:
		buf_adds(b, *(const field_bool *)at ? "yes" : "no");
		break;
	case FIELD_f64:
		buf_addf(b, "%.6g", *(const field_f64 *)at);
		break;
	case FIELD_text:
	case FIELD_json:
		text = *(const field_text *)at;
		output_safe(b, text ? text : "-", text ? strlen(text) : 1,
			    false);
		break;
	case FIELD_blob:
		buf_adds(b,
			 text_human_bytes((int64_t)((const struct blob *)at)->n,
					  human));
		break;
	}
}

static void object_lines(struct output *o, const struct shape *shape,
			 const void *obj, struct buf *b)
{
	int widest = 0;

	for (size_t i = 0; i < shape->nfields; i++)
		if ((int)strlen(shape->fields[i].name) > widest)
			widest = (int)strlen(shape->fields[i].name);
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct field *f = &shape->fields[i];

		buf_addf(b, "%s%-*s%s  ", output_style(o, STYLE_HEAD), widest,
			 f->name, output_style(o, STYLE_PLAIN));
		output_cell(b, f, obj);
		buf_addc(b, '\n');
	}
}

void output_object(struct output *o, const struct shape *shape, const void *obj)
{
	struct buf b = BUF_MAX(OBJECT_MAX);

	if (o->json) {
		json_add_shape(&b, shape, obj);
		buf_addc(&b, '\n');
	} else {
		object_lines(o, shape, obj, &b);
	}
	fwrite(b.p, 1, b.n, o->to);
	buf_fini(&b);
}

static void member_line(struct output *o, const cJSON *v, int widest,
			struct buf *b)
{
	struct buf value = BUF_MAX(OBJECT_MAX);

	if (cJSON_IsString(v))
		buf_adds(&value, v->valuestring);
	else
		json_add(&value, v);
	buf_addf(b, "%s%-*s%s  ", output_style(o, STYLE_HEAD), widest,
		 v->string, output_style(o, STYLE_PLAIN));
	output_safe(b, value.p, value.n, false);
	buf_addc(b, '\n');
	buf_fini(&value);
}

static void json_lines(struct output *o, const char *text, struct buf *b)
{
	struct err ignored;
	cJSON *root = json_parse("output", text, strlen(text), &ignored);
	const cJSON *v;
	int widest = 0;

	if (!cJSON_IsObject(root))
		output_safe(b, text, strlen(text), false);
	cJSON_ArrayForEach(v, root) if (v->string &&
					(int)strlen(v->string) > widest)
		widest = (int)strlen(v->string);
	cJSON_ArrayForEach(v, root) if (v->string) member_line(o, v, widest, b);
	if (!cJSON_IsObject(root))
		buf_addc(b, '\n');
	cJSON_Delete(root);
}

void output_json(struct output *o, const char *text)
{
	struct buf b = BUF_MAX(OBJECT_MAX);

	if (o->json)
		fprintf(o->to, "%s\n", text);
	else
		json_lines(o, text, &b);
	fwrite(b.p, 1, b.n, o->to);
	buf_fini(&b);
}

int output_document(struct output *o, const char *text, struct err *e)
{
	struct buf line = BUF_MAX(OBJECT_MAX);
	cJSON *root;

	if (!o->json) {
		output_text(o, text, strlen(text));
		return 0;
	}
	root = json_parse("output", text, strlen(text), e);
	if (!root)
		return -1;
	json_add(&line, root);
	output_json(o, line.p);
	cJSON_Delete(root);
	buf_fini(&line);
	return 0;
}

static void __attribute__((format(printf, 2, 0)))
write_note(struct output *o, const char *fmt, va_list ap)
{
	struct buf b = BUF_MAX(NOTE_MAX);

	buf_vaddf(&b, fmt, ap);
	output_text(o, b.p, b.n);
	fputc('\n', o->to);
	buf_fini(&b);
}

void output_result(struct output *o, const struct shape *shape, const void *obj,
		   const char *fmt, ...)
{
	va_list ap;

	if (o->json) {
		output_object(o, shape, obj);
		return;
	}
	va_start(ap, fmt);
	write_note(o, fmt, ap);
	va_end(ap);
}

void output_note(struct output *o, const char *fmt, ...)
{
	va_list ap;

	if (o->json)
		return;
	va_start(ap, fmt);
	write_note(o, fmt, ap);
	va_end(ap);
}

void output_label(struct output *o, enum output_style style, const char *word,
		  const char *fmt, ...)
{
	va_list ap;

	if (o->json)
		return;
	fprintf(o->to, "%s%s%s  ", output_style(o, style), word,
		output_style(o, STYLE_PLAIN));
	va_start(ap, fmt);
	write_note(o, fmt, ap);
	va_end(ap);
}

void output_text(struct output *o, const char *p, size_t n)
{
	struct buf b = BUF_MAX(OBJECT_MAX);

	output_safe(&b, p, n, true);
	fwrite(b.p, 1, b.n, o->to);
	buf_fini(&b);
}
