#include "schema/definition.h"

#include "lib/base/suggest.h"
#include "lib/base/text.h"
#include "lib/sandbox/spec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define DEFINITION_LIMIT_bytes DEFINITION_bytes
#define DEFINITION_LIMIT_count DEFINITION_int

const struct definition_member definition_members[] = {
#define DEFINITION(path, drivers, kind, min, max, words, other, help)  \
	{path,  drivers, DEFINITION_##kind, min, (double)(max), words, \
	 other, help},
#define DEFINITION_NEED(driver, path, other, how)
#define DEFINITION_FORMER(path, word, instead)
#include "schema/definition.def"
#undef DEFINITION
#undef DEFINITION_NEED
#undef DEFINITION_FORMER
	{NULL, NULL, DEFINITION_any, 0, 0, NULL, NULL, NULL},
};

static const struct need {
	const char *driver, *path, *other, *how;
} needs[] = {
#define DEFINITION(path, drivers, kind, min, max, words, other, help)
#define DEFINITION_NEED(driver, path, other, how) {driver, path, other, how},
#define DEFINITION_FORMER(path, word, instead)
#include "schema/definition.def"
#undef DEFINITION
#undef DEFINITION_NEED
#undef DEFINITION_FORMER
};

static const struct former {
	const char *path, *word, *instead;
} formers[] = {
#define DEFINITION(path, drivers, kind, min, max, words, other, help)
#define DEFINITION_NEED(driver, path, other, how)
#define DEFINITION_FORMER(path, word, instead) {path, word, instead},
#include "schema/definition.def"
#undef DEFINITION
#undef DEFINITION_NEED
#undef DEFINITION_FORMER
};

bool definition_applies(const struct definition_member *m, const char *driver)
{
	size_t n = driver ? strlen(driver) : 0;

	if (!driver || !*m->drivers)
		return true;
	for (const char *at = m->drivers; *at; at += *at == ' ') {
		size_t k = strcspn(at, " ");

		if (k == n && !strncmp(at, driver, n))
			return true;
		at += k;
	}
	return false;
}

/* "*" in a row stands for one name of the path. */
static bool fits(const char *row, const char *path)
{
	while (*row && *path) {
		size_t n = strcspn(row, "."), k = strcspn(path, ".");

		if ((n != k || strncmp(row, path, n) != 0) &&
		    (n != 1 || *row != '*' || k == 0))
			return false;
		row += n;
		path += k;
		if (*row != *path)
			return false;
		row += *row == '.';
		path += *path == '.';
	}
	return *row == *path;
}

const struct definition_member *definition_find(const char *path,
						const char *driver)
{
	for (const struct definition_member *m = definition_members; m->path;
	     m++)
		if (fits(m->path, path) && definition_applies(m, driver))
			return m;
	return NULL;
}

bool definition_is_inside(const struct definition_member *m, const char *path)
{
	const char *dot = strrchr(m->path, '.');
	char outer[DEFINITION_PATH];

	text_printf(outer, sizeof outer, "%.*s", dot ? (int)(dot - m->path) : 0,
		    m->path);
	return fits(outer, path);
}

/* --- values ------------------------------------------------------------ */

static bool has_only_strings(const cJSON *v, bool absolute)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, v)
	{
		if (!cJSON_IsString(m) ||
		    (absolute && m->valuestring[0] != '/'))
			return false;
	}
	return true;
}

static bool has_texts_or_refs(const cJSON *v)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, v)
	{
		if (!cJSON_IsString(m) && !cJSON_IsObject(m))
			return false;
	}
	return true;
}

static bool is_url(const char *s)
{
	return !strncmp(s, "http://", 7) || !strncmp(s, "https://", 8);
}

static bool is_word(const char *words, const char *s)
{
	struct err ignored;

	return text_check_word("", words, s, &ignored) == 0;
}

static bool is_number(const struct definition_member *m, const cJSON *v,
		      bool whole)
{
	double n = cJSON_IsNumber(v) ? v->valuedouble : NAN;

	return n >= m->min && (m->max == 0 || n <= m->max) &&
	       (!whole || n == floor(n));
}

static bool is_bytes(const struct definition_member *m, const cJSON *v)
{
	struct err ignored;
	int64_t n;

	return is_number(m, v, true) ||
	       (cJSON_IsString(v) &&
		text_bytes("", v->valuestring, &n, &ignored) == 0);
}

static bool is_text(const struct definition_member *m, const char *s)
{
	switch (m->kind) {
	case DEFINITION_word:
		return is_word(m->words, s);
	case DEFINITION_url:
		return is_url(s);
	case DEFINITION_path:
		return s[0] == '/';
	case DEFINITION_text:
	case DEFINITION_text_or_object:
	case DEFINITION_any:
		return true;
	case DEFINITION_bool:
	case DEFINITION_int:
	case DEFINITION_number:
	case DEFINITION_bytes:
	case DEFINITION_list:
	case DEFINITION_strings:
	case DEFINITION_paths:
	case DEFINITION_object:
	case DEFINITION_texts:
	case DEFINITION_texts_or_refs:
		break;
	}
	return false;
}

static bool is_valid(const struct definition_member *m, const cJSON *v)
{
	switch (m->kind) {
	case DEFINITION_bool:
		return cJSON_IsBool(v);
	case DEFINITION_int:
		return is_number(m, v, true);
	case DEFINITION_number:
		return is_number(m, v, false);
	case DEFINITION_bytes:
		return is_bytes(m, v);
	case DEFINITION_list:
		return cJSON_IsArray(v);
	case DEFINITION_strings:
		return cJSON_IsArray(v) && has_only_strings(v, false);
	case DEFINITION_paths:
		return cJSON_IsArray(v) && has_only_strings(v, true);
	case DEFINITION_object:
		return cJSON_IsObject(v);
	case DEFINITION_texts:
		return cJSON_IsObject(v) && has_only_strings(v, false);
	case DEFINITION_texts_or_refs:
		return cJSON_IsObject(v) && has_texts_or_refs(v);
	case DEFINITION_text_or_object:
		return cJSON_IsString(v) || cJSON_IsObject(v);
	case DEFINITION_any:
		return true;
	case DEFINITION_text:
	case DEFINITION_word:
	case DEFINITION_url:
	case DEFINITION_path:
		break;
	}
	return cJSON_IsString(v) && is_text(m, v->valuestring);
}

void definition_add_kind(struct buf *b, const struct definition_member *m)
{
	static const char *const kinds[] = {
		[DEFINITION_text] = "a string",
		[DEFINITION_word] = "one of ",
		[DEFINITION_url] = "a URL, such as https://host/v1",
		[DEFINITION_path] = "an absolute path",
		[DEFINITION_bool] = "true or false",
		[DEFINITION_int] = "a whole number",
		[DEFINITION_number] = "a number",
		[DEFINITION_bytes] = "a whole number of bytes, or a string "
				     "such as \"512M\"",
		[DEFINITION_list] = "a list",
		[DEFINITION_strings] = "a list of strings",
		[DEFINITION_paths] = "a list of absolute paths",
		[DEFINITION_object] = "an object",
		[DEFINITION_texts] = "an object whose values are strings",
		[DEFINITION_texts_or_refs] =
			"an object whose values are strings, {\"file\": NAME} "
			"or {\"env\": NAME}",
		[DEFINITION_text_or_object] = "a string or an object",
		[DEFINITION_any] = "any value",
	};
	bool whole = m->kind == DEFINITION_int;

	buf_addf(b, "%s%s", kinds[m->kind],
		 m->kind == DEFINITION_word ? m->words : "");
	if (!whole && m->kind != DEFINITION_number)
		return;
	if (m->max > 0 && m->max < (double)DEFINITION_MAX)
		buf_addf(b, " from %.0f to %.0f", m->min, m->max);
	else
		buf_addf(b, ", at least %.0f", m->min);
}

/* --- errors ------------------------------------------------------------ */

#define VALUE_MAX 60 /* bytes of a value in an error */

/* Lists and objects may contain secrets: only their type is named. */
static void add_given(struct buf *b, const cJSON *v)
{
	struct buf text = BUF_MAX(1 << 16);

	if (cJSON_IsArray(v) || cJSON_IsObject(v)) {
		buf_adds(b, cJSON_IsArray(v) ? "a list" : "an object");
		return;
	}
	json_add(&text, v);
	buf_addf(b, "%.*s%s", VALUE_MAX, text.p ? text.p : "",
		 text.n > VALUE_MAX ? "…" : "");
	buf_fini(&text);
}

static void add_former(struct buf *b, const char *path, const cJSON *v)
{
	for (size_t i = 0; i < sizeof formers / sizeof *formers; i++)
		if (fits(formers[i].path, path) && cJSON_IsString(v) &&
		    !strcmp(formers[i].word, v->valuestring))
			buf_addf(b, " (%s)", formers[i].instead);
}

static int refuse_value(const struct definition_member *m, const char *path,
			const cJSON *v, struct err *e)
{
	bool is_list = m->kind == DEFINITION_strings ||
		       m->kind == DEFINITION_paths;
	bool is_object = m->kind == DEFINITION_texts ||
			 m->kind == DEFINITION_texts_or_refs;
	struct buf text = BUF_MAX(800);

	if (cJSON_IsArray(v) ? is_list : cJSON_IsObject(v) && is_object) {
		buf_addf(&text, "%s must be ", path);
	} else {
		buf_addf(&text, "%s is ", path);
		add_given(&text, v);
		buf_adds(&text, "; it must be ");
	}
	definition_add_kind(&text, m);
	add_former(&text, path, v);
	err_set(e, ERR_INVALID, "%s", text.p);
	buf_fini(&text);
	return -1;
}

/* A member of another object that is often written in the definition itself;
 * a setting of the driver is meant most often. */
static const char *find_inner(const char *name, const char *driver)
{
	const char *found = NULL;

	if (strchr(name, '.') && definition_find(name, driver))
		return name;
	for (const struct definition_member *m = definition_members; m->path;
	     m++) {
		const char *inner = strchr(m->path, '.');

		if (!inner || strcmp(inner + 1, name) != 0 ||
		    !definition_applies(m, driver))
			continue;
		if (!strncmp(m->path, "config.", 7))
			return m->path;
		found = found ? found : m->path;
	}
	return found;
}

static const char *name_of(const struct definition_member *m)
{
	const char *dot = strrchr(m->path, '.');

	return dot ? dot + 1 : m->path;
}

/* Names the nearest member, or all of them. */
static int refuse_name(const char *outer, const char *driver, const char *name,
		       struct err *e)
{
	bool config = !strcmp(outer, "config");
	struct buf all = BUF_MAX(1200);
	struct suggestion near;
	const char *meant = *outer ? NULL : find_inner(name, driver);

	suggest_begin(&near, name);
	for (const struct definition_member *m = definition_members; m->path;
	     m++) {
		if (!definition_is_inside(m, outer) ||
		    !definition_applies(m, driver))
			continue;
		suggest_candidate(&near, name_of(m));
		buf_addf(&all, "%s%s", all.n ? ", " : "", name_of(m));
	}
	meant = meant ? meant : suggest_end(&near);
	err_set(e, ERR_INVALID, "%s%sunknown %s '%s'%s%s; %s%s%s", outer,
		*outer ? ": " : "", config ? "setting" : "member",
		quoted(name).text, config ? " of driver " : "",
		config ? driver : "",
		meant    ? "did you mean '"
		: config ? "its settings are "
		: *outer ? "its members are "
			 : "custom members must start with 'x-'; the others "
			   "are ",
		meant ? meant : all.p, meant ? "'?" : "");
	buf_fini(&all);
	return -1;
}

/* --- the walk ---------------------------------------------------------- */

struct walk {
	const char *driver;
	const cJSON *stored;
	char *where;
};

/* Does anything in the table lie inside the member? If not, it may contain
 * anything. */
static bool has_inner(const char *path, const char *driver)
{
	for (const struct definition_member *m = definition_members; m->path;
	     m++)
		if (definition_is_inside(m, path) &&
		    definition_applies(m, driver))
			return true;
	return false;
}

static bool is_free(const struct walk *w, const char *outer, const cJSON *v)
{
	bool config = !strncmp(outer, "config", 6);

	if (cJSON_IsNull(v) && !config)
		return true;
	if (*outer)
		return false;
	return !strncmp(v->string, "x-", 2) ||
	       cJSON_GetObjectItemCaseSensitive(w->stored, v->string);
}

/* Checks one member, and writes its path. 1: it has members to check. */
static int check_member(const struct walk *w, const char *outer, const cJSON *v,
			char path[DEFINITION_PATH], struct err *e)
{
	const struct definition_member *m;

	text_printf(path, DEFINITION_PATH, "%s%s%s", outer, *outer ? "." : "",
		    v->string);
	text_printf(w->where, DEFINITION_PATH, "%s", path);
	m = definition_find(path, w->driver);
	if (!m)
		return is_free(w, outer, v)
			       ? 0
			       : refuse_name(outer, w->driver, v->string, e);
	if (cJSON_IsNull(v) && strncmp(path, "config.", 7) != 0)
		return 0;
	if (!is_valid(m, v))
		return refuse_value(m, path, v, e);
	if (!strcmp(path, "config") && !w->driver)
		return 0;
	return cJSON_IsObject(v) && has_inner(path, w->driver);
}

#define DEPTH_MAX 16 /* of the paths of the table */

/* The members of an object and of the objects in it. */
static int check_object(const struct walk *w, const char *outer,
			const cJSON *obj, struct err *e)
{
	struct level {
		const cJSON *next; /* member */
		char path[DEFINITION_PATH];
	} levels[DEPTH_MAX];
	int n = 1;

	levels[0].next = obj->child;
	text_printf(levels[0].path, DEFINITION_PATH, "%s", outer);
	while (n > 0) {
		struct level *l = &levels[n - 1];
		const cJSON *v = l->next;
		char path[DEFINITION_PATH];
		int inner = v ? check_member(w, l->path, v, path, e) : 0;

		if (inner < 0)
			return -1;
		if (!v) {
			n--;
			continue;
		}
		l->next = v->next;
		if (inner) {
			assert(n < DEPTH_MAX);
			levels[n].next = v->child;
			text_printf(levels[n++].path, DEFINITION_PATH, "%s",
				    path);
		}
	}
	return 0;
}

int definition_check(const cJSON *def, const char *driver, const cJSON *stored,
		     char where[DEFINITION_PATH], struct err *e)
{
	struct walk w = {driver, stored, where};

	return check_object(&w, "", def, e);
}

int definition_check_config(const char *driver, const cJSON *config,
			    struct err *e)
{
	char where[DEFINITION_PATH];
	struct walk w = {driver, NULL, where};

	if (!config)
		return 0;
	if (!cJSON_IsObject(config))
		return err_set(e, ERR_INVALID, "config must be an object");
	return check_object(&w, "config", config, e);
}

int definition_check_names(const char *path, const cJSON *obj, struct err *e)
{
	char where[DEFINITION_PATH];
	struct walk w = {NULL, NULL, where};

	return check_object(&w, path, obj, e);
}

/* --- needs ------------------------------------------------------------- */

static bool has_member(const cJSON *def, const char *path)
{
	const char *dot = strchr(path, '.');
	const cJSON *v = def;

	if (!*path)
		return false;
	if (dot) /* the only object that a need names */
		v = json_member(def, "config");
	v = json_member(v, dot ? dot + 1 : path);
	return v && !cJSON_IsNull(v);
}

int definition_check_needs(const char *agent, const cJSON *def, struct err *e)
{
	const char *driver = json_text(def, "driver", "");

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		const struct need *n = &needs[i];

		if (strcmp(n->driver, driver) != 0 ||
		    has_member(def, n->path) || has_member(def, n->other))
			continue;
		return err_set(e, ERR_INVALID,
			       "agent '%s': the driver %s needs %s%s%s; give "
			       "%s",
			       quoted(agent).text, driver, n->path,
			       *n->other ? " or " : "", n->other, n->how);
	}
	return 0;
}
