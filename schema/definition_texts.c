/* The JSON schema and the document of definitions. */
#include "schema/definition.h"

#include "lib/base/text.h"

#include <assert.h>
#include <string.h>

static const char *name_of(const struct definition_member *m)
{
	const char *dot = strrchr(m->path, '.');

	return dot ? dot + 1 : m->path;
}

/* A path that several drivers have is written once, with the widest range. */
static bool is_repeated(const struct definition_member *m)
{
	for (const struct definition_member *p = definition_members; p < m; p++)
		if (!strcmp(p->path, m->path))
			return true;
	return false;
}

static void put_words(struct buf *out, const char *words)
{
	json_put_array(out, "enum");
	for (const char *at = words; *at; at += *at == '|') {
		size_t n = strcspn(at, "|");

		json_add_string(out, at, n);
		at += n;
	}
	json_end_array(out);
}

static void put_types(struct buf *out, const char *a, const char *b)
{
	json_put_array(out, "type");
	json_add_text(out, a);
	json_add_text(out, b);
	json_end_array(out);
}

static void put_items(struct buf *out, const char *name, const char *type,
		      const char *pattern)
{
	json_put_object(out, name);
	json_put_text(out, "type", type);
	if (pattern)
		json_put_text(out, "pattern", pattern);
	json_end_object(out);
}

static void put_range(struct buf *out, const struct definition_member *m)
{
	double max = m->max;

	for (const struct definition_member *p = m + 1; p->path; p++)
		if (!strcmp(p->path, m->path) && p->max > max)
			max = p->max;
	json_put_int(out, "minimum", (int64_t)m->min);
	if (max > 0 && max < (double)DEFINITION_MAX)
		json_put_int(out, "maximum", (int64_t)max);
}

static void put_type(struct buf *out, const struct definition_member *m)
{
	switch (m->kind) {
	case DEFINITION_text:
		json_put_text(out, "type", "string");
		return;
	case DEFINITION_word:
		json_put_text(out, "type", "string");
		put_words(out, m->words);
		return;
	case DEFINITION_url:
		json_put_text(out, "type", "string");
		json_put_text(out, "pattern", "^https?://");
		return;
	case DEFINITION_path:
		json_put_text(out, "type", "string");
		json_put_text(out, "pattern", "^/");
		return;
	case DEFINITION_bool:
		json_put_text(out, "type", "boolean");
		return;
	case DEFINITION_int:
	case DEFINITION_number:
		json_put_text(out, "type",
			      m->kind == DEFINITION_int ? "integer" : "number");
		put_range(out, m);
		return;
	case DEFINITION_bytes:
		put_types(out, "integer", "string");
		return;
	case DEFINITION_list:
		json_put_text(out, "type", "array");
		return;
	case DEFINITION_strings:
	case DEFINITION_paths:
		json_put_text(out, "type", "array");
		put_items(out, "items", "string",
			  m->kind == DEFINITION_paths ? "^/" : NULL);
		return;
	case DEFINITION_texts:
		json_put_text(out, "type", "object");
		put_items(out, "additionalProperties", "string", NULL);
		return;
	case DEFINITION_object:
	case DEFINITION_texts_or_refs:
		json_put_text(out, "type", "object");
		return;
	case DEFINITION_text_or_object:
		put_types(out, "string", "object");
		return;
	case DEFINITION_any:
		return;
	}
}

static bool has_members(const char *path)
{
	for (const struct definition_member *m = definition_members; m->path;
	     m++)
		if (definition_is_inside(m, path))
			return true;
	return false;
}

/* Begins the object of a member. */
static void begin_member(struct buf *out, const struct definition_member *m)
{
	bool any = !strcmp(name_of(m), "*");

	json_put_object(out, any ? "additionalProperties" : name_of(m));
	put_type(out, m);
	if (m->kind == DEFINITION_bool && *m->other)
		json_put_bool(out, "default", !strcmp(m->other, "true"));
	json_put_text(out, "description", m->help);
}

/* The members below a path: those of the table, or any name (PATH.*). */
struct level {
	const char *path;
	const struct definition_member *next;
	bool has_any_name;
};

static void begin_level(struct buf *out, struct level *l, const char *path)
{
	char any[DEFINITION_PATH];

	text_printf(any, sizeof any, "%s.*", path);
	*l = (struct level){path, definition_members, false};
	for (const struct definition_member *m = definition_members; m->path;
	     m++)
		if (!strcmp(m->path, any))
			*l = (struct level){path, m, true};
	if (!l->has_any_name)
		json_put_object(out, "properties");
}

static const struct definition_member *next_member(struct level *l)
{
	const struct definition_member *m = l->next;

	if (l->has_any_name) {
		l->next = NULL;
		return m;
	}
	while (m->path && (!definition_is_inside(m, l->path) || is_repeated(m)))
		m++;
	if (!m->path)
		return NULL;
	l->next = m + 1;
	return m;
}

static void end_level(struct buf *out, const struct level *l)
{
	if (l->has_any_name)
		return;
	json_end_object(out);
	json_put_bool(out, "additionalProperties", false);
}

#define DEPTH_MAX 16 /* of the paths of the table */

static void put_members(struct buf *out, const char *path)
{
	struct level levels[DEPTH_MAX];
	int n = 1;

	begin_level(out, &levels[0], path);
	while (n > 0) {
		const struct definition_member *m = next_member(&levels[n - 1]);

		if (m) {
			begin_member(out, m);
			if (has_members(m->path)) {
				assert(n < DEPTH_MAX);
				begin_level(out, &levels[n++], m->path);
				continue;
			}
		} else {
			end_level(out, &levels[--n]);
		}
		if (m || n > 0)
			json_end_object(out); /* of the member */
	}
}

void definition_schema(struct buf *out)
{
	struct buf text = BUF_MAX(1u << 20);

	json_begin_object(&text);
	json_put_text(&text, "$schema",
		      "https://json-schema.org/draft/2020-12/schema");
	json_put_text(&text, "title", "definition of a skep agent");
	json_put_text(&text, "type", "object");
	json_put_object(&text, "patternProperties");
	json_put_object(&text, "^x-");
	json_put_text(&text, "description", "members of the user, not checked");
	json_end_object(&text);
	json_end_object(&text);
	put_members(&text, "");
	json_end_object(&text);
	json_indent(out, text.p, 8);
	buf_adds(out, "\n");
	buf_fini(&text);
}

/* --- the document ------------------------------------------------------ */

static void add_row(struct buf *out, const struct definition_member *m)
{
	struct buf kind = BUF_MAX(600);

	definition_add_kind(&kind, m);
	buf_addf(out, "| `%s` | ", m->path);
	for (const char *p = kind.p; *p; p++) /* a bar would end the cell */
		buf_addf(out, *p == '|' ? ", " : "%c", *p);
	buf_addf(out, " | %s | %s |\n", m->other, m->help);
	buf_fini(&kind);
}

static void add_table(struct buf *out, const char *driver, bool config)
{
	buf_adds(out, "| member | value | default | meaning |\n"
		      "|---|---|---|---|\n");
	for (const struct definition_member *m = definition_members; m->path;
	     m++)
		if (!strncmp(m->path, "config.", 7) == config &&
		    definition_applies(m, driver))
			add_row(out, m);
}

void definition_document(struct buf *out)
{
	static const char *const drivers[] = {"exec", "acp", "chat", "script"};

	buf_adds(out, "# Definitions of agents\n\n"
		      "`skep agent explain` prints this table, and `skep agent "
		      "explain MEMBER` one row of it. Names that\n"
		      "begin with `x-` are free for your own use.\n\n"
		      "<!-- written by tools/readme from schema/definition.def "
		      "-->\n\n");
	add_table(out, NULL, false);
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		buf_addf(out, "\n## Settings of the driver %s\n\n", drivers[i]);
		add_table(out, drivers[i], true);
	}
}
