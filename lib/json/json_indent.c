/* Readable JSON: adds white space to compact JSON. */
#include "lib/json/json_write.h"

#include <string.h>

static void break_line(struct buf *b, int level)
{
	buf_addc(b, '\n');
	for (int i = 0; i < level; i++)
		buf_adds(b, "  ");
}

/* The length of the string at p with its quotes. */
static size_t string_length(const char *p)
{
	size_t n = 1;

	while (p[n] && p[n] != '"')
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return p[n] ? n + 1 : n;
}

/* One byte outside of strings. */
static void add_byte(struct buf *b, const char *p, int *level, int depth)
{
	bool is_empty = p[0] != ',' && (p[1] == '}' || p[1] == ']');

	switch (*p) {
	case '{':
	case '[':
		buf_addc(b, *p);
		if (++*level <= depth && !is_empty)
			break_line(b, *level);
		break;
	case '}':
	case ']':
		if ((*level)-- <= depth && !strchr("{[", b->p[b->n - 1]))
			break_line(b, *level);
		buf_addc(b, *p);
		break;
	case ',':
		buf_addc(b, ',');
		*level <= depth ? break_line(b, *level)
				: (void)buf_addc(b, ' ');
		break;
	case ':':
		buf_adds(b, ": ");
		break;
	default:
		buf_addc(b, *p);
	}
}

void json_indent(struct buf *b, const char *json, int depth)
{
	int level = 0;

	while (*json && !b->over) {
		size_t n = *json == '"' ? string_length(json) : 0;

		if (n > 0)
			buf_add(b, json, n);
		else
			add_byte(b, json, &level, depth);
		json += n ? n : 1;
	}
	buf_addc(b, '\n');
}
