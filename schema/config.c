#include "schema/config.h"

#include "lib/base/suggest.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_MAX_BYTES (1u << 20)

enum kind { KIND_int, KIND_bool, KIND_text, KIND_millis, KIND_bytes };

static const struct key {
	const char *section;
	const char *name;
	enum kind kind;
	size_t offset;
	int64_t min;
	int64_t max;
	const char *values;
	const char *help;
} keys[] = {

#define CONFIG(section, key, kind, def, min, max, values, help)        \
	{                                                              \
		#section,    #key,                                     \
		KIND_##kind, offsetof(struct config, section##_##key), \
		min,         max,                                      \
		values,      help},
#include "schema/config.def"
#undef CONFIG
};

#define NKEYS (sizeof keys / sizeof keys[0])

void config_defaults(struct config *c)
{
	*c = (struct config){

#define CONFIG(section, key, kind, def, min, max, values, help) \
	.section##_##key = def,
#include "schema/config.def"
#undef CONFIG
		.warnings = BUF_MAX(65536),
	};
}

void config_fini(struct config *c)
{
	arena_fini(&c->arena);
	buf_fini(&c->warnings);
}

static const struct key *find_key(const char *section, const char *name)
{
	for (size_t i = 0; i < NKEYS; i++)
		if (!strcmp(keys[i].section, section) &&
		    !strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static bool is_section(const char *name)
{
	for (size_t i = 0; i < NKEYS; i++)
		if (!strcmp(keys[i].section, name))
			return true;
	return false;
}

/* The most similar key, written to `full`; or NULL. */
static const char *find_similar_key(const char *key, char *full, size_t size)
{
	struct suggestion near;
	const char *dot = strrchr(key, '.');
	const char *name, *section = NULL;

	suggest_begin(&near, dot ? dot + 1 : key);
	for (size_t i = 0; i < NKEYS; i++)
		suggest_candidate(&near, keys[i].name);
	name = suggest_end(&near);
	for (size_t i = 0; name && i < NKEYS; i++)
		if (!strcmp(keys[i].name, name) &&
		    (!section ||
		     !strncmp(keys[i].section, key, strlen(keys[i].section))))
			section = keys[i].section;
	if (name)
		text_printf(full, size, "%s.%s", section, name);
	return name ? full : NULL;
}

int config_check_key(const char *key, struct err *e)
{
	const char *meant;
	char full[64];

	for (size_t i = 0; i < NKEYS; i++) {
		text_printf(full, sizeof full, "%s.%s", keys[i].section,
			    keys[i].name);
		if (!strcmp(full, key))
			return 0;
	}
	meant = find_similar_key(key, full, sizeof full);
	return err_set(e, ERR_USAGE, "skep.json has no key '%s'%s%s%s",
		       quoted(key).text, meant ? "; did you mean '" : "",
		       meant ? meant : "; 'skep config show' lists all keys",
		       meant ? "'?" : "");
}

/* Is word one of "a|b|c"? An empty list allows every word. */
static bool is_allowed(const char *list, const char *word)
{
	size_t n = strlen(word);

	if (!*list)
		return true;
	if (strchr(word, '|'))
		return false; /* a list of several words is not one word */
	for (const char *at = list; at; at = strchr(at, '|')) {
		at += *at == '|';
		if (!strncmp(at, word, n) && (at[n] == '|' || !at[n]))
			return true;
	}
	return false;
}

static int set_text(struct config *c, const struct key *k, const cJSON *v,
		    struct err *e)
{
	const char **to = (const char **)(void *)((char *)c + k->offset);

	if (!cJSON_IsString(v))
		return err_set(e, ERR_CONFIG, "%s.%s must be a string",
			       k->section, k->name);
	if (!is_allowed(k->values, v->valuestring))
		return err_set(e, ERR_CONFIG,
			       "%s.%s is '%s'; it must be one of %s",
			       k->section, k->name, quoted(v->valuestring).text,
			       k->values);
	*to = arena_text(&c->arena, v->valuestring);
	return 0;
}

static int number_of(const struct key *k, const cJSON *v, int64_t *out,
		     struct err *e)
{
	char key[64];

	text_printf(key, sizeof key, "%s.%s", k->section, k->name);
	if (cJSON_IsNumber(v) && k->kind == KIND_millis &&
	    fabs(v->valuedouble) < 9e12) {
		*out = (int64_t)llround(v->valuedouble * 1000);
		return 0;
	}
	if (cJSON_IsNumber(v) && v->valuedouble == floor(v->valuedouble) &&
	    fabs(v->valuedouble) < 9e15) {
		*out = (int64_t)v->valuedouble;
		return 0;
	}
	if (cJSON_IsString(v) && k->kind == KIND_millis)
		return text_millis(key, v->valuestring, out, e);
	if (cJSON_IsString(v) && k->kind == KIND_bytes)
		return text_bytes(key, v->valuestring, out, e);
	if (k->kind == KIND_millis)
		return err_set(e, ERR_CONFIG,
			       "%s must be a number of seconds, or a string "
			       "such as \"30s\"",
			       key);
	return err_set(e, ERR_CONFIG, "%s must be a whole number%s", key,
		       k->kind == KIND_bytes
			       ? " of bytes, or a string such as \"64k\""
			       : "");
}

static int reject_range(const struct key *k, int64_t n, struct err *e)
{
	char is[TEXT_HUMAN], min[TEXT_HUMAN], max[TEXT_HUMAN];

	if (k->kind == KIND_millis)
		return err_set(e, ERR_CONFIG,
			       "%s.%s is %s; it must be between %s and %s",
			       k->section, k->name, text_duration(n, is),
			       text_duration(k->min, min),
			       text_duration(k->max, max));
	return err_set(e, ERR_CONFIG,
		       "%s.%s is %" PRId64 "; it must be between %" PRId64
		       " and %" PRId64,
		       k->section, k->name, n, k->min, k->max);
}

static int set_number(struct config *c, const struct key *k, const cJSON *v,
		      struct err *e)
{
	int64_t n = 0;

	if (number_of(k, v, &n, e)) {
		e->code = ERR_CONFIG;
		return -1;
	}
	if (n < k->min || n > k->max)
		return reject_range(k, n, e);
	*(int64_t *)(void *)((char *)c + k->offset) = n;
	return 0;
}

static int set_value(struct config *c, const struct key *k, const cJSON *v,
		     struct err *e)
{
	if (k->kind == KIND_text)
		return set_text(c, k, v, e);
	if (k->kind != KIND_bool)
		return set_number(c, k, v, e);
	if (!cJSON_IsBool(v))
		return err_set(e, ERR_CONFIG, "%s.%s must be true or false",
			       k->section, k->name);
	*(bool *)((char *)c + k->offset) = cJSON_IsTrue(v);
	return 0;
}

/* If a key occurs twice, a reader of the file may see one value while the
 * program uses the other. */
static int check_once(const cJSON *member, const char *section, struct err *e)
{
	for (const cJSON *v = member->next; v; v = v->next)
		if (!strcmp(v->string, member->string))
			return err_set(e, ERR_CONFIG,
				       "%s%s%s is a duplicate key", section,
				       *section ? "." : "",
				       quoted(v->string).text);
	return 0;
}

static int read_section(struct config *c, const cJSON *section, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, section)
	{
		const struct key *k = find_key(section->string, v->string);

		if (check_once(v, section->string, e))
			return -1;
		if (!k)
			buf_addf(&c->warnings, "unknown key %s.%s\n",
				 section->string, quoted(v->string).text);
		else if (set_value(c, k, v, e))
			return -1;
	}
	return 0;
}

static int read_root(struct config *c, const cJSON *root, struct err *e)
{
	const cJSON *section;

	cJSON_ArrayForEach(section, root)
	{
		if (check_once(section, "", e))
			return -1;
		if (!strcmp(section->string, "$schema"))
			continue;
		if (!is_section(section->string)) {
			buf_addf(&c->warnings, "unknown section %s\n",
				 quoted(section->string).text);
			continue;
		}
		if (!cJSON_IsObject(section))
			return err_set(e, ERR_CONFIG, "%s must be an object",
				       section->string);
		if (read_section(c, section, e))
			return -1;
	}
	return 0;
}

int config_parse(struct config *c, const char *what, const char *text, size_t n,
		 struct err *e)
{
	cJSON *root = json_parse_object(what, text, n, e);
	int rc;

	if (!root) {
		e->code = ERR_CONFIG;
		return -1;
	}
	rc = read_root(c, root, e);
	cJSON_Delete(root);
	return rc ? err_wrap(e, "%s", what) : 0;
}

int config_load(struct config *c, const char *path, struct err *e)
{
	struct buf text = BUF_MAX(CONFIG_MAX_BYTES);
	struct stat st;
	int rc = 0;

	config_defaults(c);
	if (!file_exists(path) && lstat(path, &st)) /* a dangling link is not a
						     * missing file */
		return 0;
	c->from_file = true;
	if (file_read(path, &text, e)) {
		e->code = e->code == ERR_TOOBIG ? ERR_CONFIG : e->code;
		rc = -1;
	} else {
		rc = config_parse(c, path, text.p, text.n, e);
	}
	buf_fini(&text);
	return rc;
}

static void add_value(const struct config *c, const struct key *k,
		      struct buf *out)
{
	const char *at = (const char *)c + k->offset;
	char time[TEXT_HUMAN];

	if (k->kind == KIND_text)
		json_add_text(out, *(const char *const *)(const void *)at);
	else if (k->kind == KIND_bool)
		json_add_bool(out, *(const bool *)at);
	else if (k->kind == KIND_millis)
		json_add_text(out,
			      text_duration(*(const int64_t *)(const void *)at,
					    time));
	else
		json_add_int(out, *(const int64_t *)(const void *)at);
}

static bool begins_section(size_t i)
{
	return i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0;
}

static bool ends_section(size_t i)
{
	return i + 1 == NKEYS || begins_section(i + 1);
}

void config_show(const struct config *c, struct buf *out)
{
	struct buf b = BUF_MAX(out->max);

	json_begin_object(&b);
	for (size_t i = 0; i < NKEYS; i++) {
		if (begins_section(i))
			json_put_object(&b, keys[i].section);
		json_key(&b, keys[i].name);
		add_value(c, &keys[i], &b);
		if (ends_section(i))
			json_end_object(&b);
	}
	json_end_object(&b);
	json_indent(out, b.p, 2);
	buf_fini(&b);
}

static void put_enum(const char *values, struct buf *out)
{
	json_put_array(out, "enum");
	for (;;) {
		size_t n = strcspn(values, "|");

		json_add_string(out, values, n);
		if (!values[n])
			break;
		values += n + 1;
	}
	json_end_array(out);
}

static void put_key_schema(const struct config *c, const struct key *k,
			   struct buf *out)
{
	static const char *const types[] = {
		[KIND_int] = "\"integer\"",
		[KIND_bool] = "\"boolean\"",
		[KIND_text] = "\"string\"",
		[KIND_millis] = "[\"number\",\"string\"]",
		[KIND_bytes] = "[\"integer\",\"string\"]",
	};

	json_put_object(out, k->name);
	json_put_raw(out, "type", types[k->kind]);
	json_key(out, "default");
	add_value(c, k, out);
	if (k->kind == KIND_millis) { /* of a number: seconds */
		json_key(out, "minimum");
		json_add_real(out, (double)k->min / 1000);
		json_key(out, "maximum");
		json_add_real(out, (double)k->max / 1000);
	} else if (k->kind != KIND_text && k->kind != KIND_bool) {
		json_put_int(out, "minimum", k->min);
		json_put_int(out, "maximum", k->max);
	}
	if (*k->values)
		put_enum(k->values, out);
	json_put_text(out, "description", k->help);
	json_end_object(out);
}

static void put_sections_schema(const struct config *c, struct buf *out)
{
	json_put_object(out, "properties");
	for (size_t i = 0; i < NKEYS; i++) {
		if (begins_section(i)) {
			json_put_object(out, keys[i].section);
			json_put_text(out, "type", "object");
			json_put_object(out, "properties");
		}
		put_key_schema(c, &keys[i], out);
		if (ends_section(i)) {
			json_end_object(out);
			json_end_object(out);
		}
	}
	json_end_object(out);
}

void config_schema(struct buf *out)
{
	struct buf b = BUF_MAX(out->max);
	struct config c;

	config_defaults(&c);
	json_begin_object(&b);
	json_put_text(&b, "$schema",
		      "https://json-schema.org/draft/2020-12/schema");
	json_put_text(&b, "title", "skep.json");
	json_put_text(&b, "type", "object");
	put_sections_schema(&c, &b);
	json_end_object(&b);
	json_indent(out, b.p, 4); /* one key per line */
	config_fini(&c);
	buf_fini(&b);
}
