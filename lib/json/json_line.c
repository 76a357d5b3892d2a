/* The line of a member, for errors about the value of a valid text. */
#include "lib/json/json.h"

#include <string.h>

struct cursor {
	const char *p;
	int line;
};

static void skip_space(struct cursor *c)
{
	for (; *c->p && strchr(" \t\r\n", *c->p); c->p++)
		c->line += *c->p == '\n';
}

static void skip_string(struct cursor *c)
{
	for (c->p++; *c->p && *c->p != '"'; c->p++)
		if (*c->p == '\\' && c->p[1])
			c->p++;
	c->p += *c->p == '"';
}

/* Skips a value by counting its brackets. */
static void skip_value(struct cursor *c)
{
	int depth = 0;

	do {
		skip_space(c);
		if (*c->p == '"') {
			skip_string(c);
		} else if (*c->p == '{' || *c->p == '[') {
			depth++;
			c->p++;
		} else if (*c->p == '}' || *c->p == ']') {
			depth--;
			c->p++;
		} else if (*c->p == ',' || *c->p == ':') {
			c->p++;
		} else {
			c->p += strcspn(c->p, " \t\r\n,:]}");
		}
	} while (depth > 0 && *c->p);
}

/* Moves behind the name and the colon of the member; false if the object has no
 * such member. Escapes in names are compared as they are written. */
static bool enter_member(struct cursor *c, const char *name, size_t n,
			 int *line)
{
	skip_space(c);
	if (*c->p != '{')
		return false;
	c->p++;
	for (skip_space(c); *c->p == '"'; skip_space(c)) {
		const char *key = c->p + 1;
		bool same = !strncmp(key, name, n) && key[n] == '"';

		*line = c->line;
		skip_string(c);
		skip_space(c);
		c->p += *c->p == ':';
		if (same)
			return true;
		skip_value(c);
		skip_space(c);
		c->p += *c->p == ',';
	}
	return false;
}

int json_line_of(const char *text, const char *path)
{
	struct cursor c = {text, 1};
	int line = 0;

	while (*path) {
		size_t n = strcspn(path, ".");

		if (!enter_member(&c, path, n, &line))
			return 0;
		path += n + (path[n] == '.');
	}
	return line;
}
