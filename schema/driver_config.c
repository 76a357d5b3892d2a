#include "schema/driver_config.h"

#include "lib/base/buf.h"
#include "lib/base/suggest.h"
#include "lib/base/text.h"

#include <math.h>
#include <string.h>

#define DRIVER_MAX 9007199254740991 /* 2^53 - 1 */
#define VALUE_MAX  60               /* bytes of a value in an error */

enum kind {
	KIND_text,
	KIND_word,
	KIND_url,
	KIND_bool,
	KIND_number,
	KIND_int,
	KIND_list,
	KIND_strings,
	KIND_object,
	KIND_texts,
};

static const struct setting {
	const char *driver, *name;
	enum kind kind;
	double min, max;
	const char *words;
} settings[] = {
#define DRIVER_CONFIG(driver, name, kind, min, max, words) \
	{#driver, #name, KIND_##kind, min, max, words},
#include "schema/driver_config.def"
#undef DRIVER_CONFIG
};

#define NSETTINGS (sizeof settings / sizeof settings[0])

static const struct setting *find_setting(const char *driver, const char *name)
{
	for (size_t i = 0; i < NSETTINGS; i++)
		if (!strcmp(settings[i].driver, driver) &&
		    !strcmp(settings[i].name, name))
			return &settings[i];
	return NULL;
}

bool driver_config_has(const char *driver, const char *name)
{
	return find_setting(driver, name) != NULL;
}

/* Names the nearest setting, or all of them. */
static int refuse_setting(const char *driver, const char *name, struct err *e)
{
	struct buf all = BUF_MAX(600);
	struct suggestion near;
	const char *meant;

	suggest_begin(&near, name);
	for (size_t i = 0; i < NSETTINGS; i++) {
		if (strcmp(settings[i].driver, driver) != 0)
			continue;
		suggest_candidate(&near, settings[i].name);
		buf_addf(&all, "%s%s", all.n ? ", " : "", settings[i].name);
	}
	meant = suggest_end(&near);
	if (meant)
		err_set(e, ERR_INVALID,
			"config: unknown setting '%s' of driver %s; did you "
			"mean '%s'?",
			quoted(name).text, driver, meant);
	else
		err_set(e, ERR_INVALID,
			"config: unknown setting '%s' of driver %s; its "
			"settings are %s",
			quoted(name).text, driver, all.p);
	buf_fini(&all);
	return -1;
}

static bool has_only_strings(const cJSON *v)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, v)
	{
		if (!cJSON_IsString(m))
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

static bool is_valid(const struct setting *s, const cJSON *v)
{
	double n = cJSON_IsNumber(v) ? v->valuedouble : -1;

	switch (s->kind) {
	case KIND_text:
		return cJSON_IsString(v);
	case KIND_word:
		return cJSON_IsString(v) && is_word(s->words, v->valuestring);
	case KIND_url:
		return cJSON_IsString(v) && is_url(v->valuestring);
	case KIND_bool:
		return cJSON_IsBool(v);
	case KIND_number:
		return n >= 0;
	case KIND_int:
		return cJSON_IsNumber(v) && n >= s->min && n <= s->max &&
		       n == floor(n);
	case KIND_list:
		return cJSON_IsArray(v);
	case KIND_strings:
		return cJSON_IsArray(v) && has_only_strings(v);
	case KIND_object:
		return cJSON_IsObject(v);
	case KIND_texts:
		return cJSON_IsObject(v) && has_only_strings(v);
	}
	return false;
}

static void add_valid(struct buf *b, const struct setting *s)
{
	static const char *const kinds[] = {
		[KIND_text] = "a string",
		[KIND_word] = "one of ",
		[KIND_url] = "a URL, such as https://host/v1",
		[KIND_bool] = "true or false",
		[KIND_number] = "a number, at least 0",
		[KIND_int] = "a whole number",
		[KIND_list] = "a list",
		[KIND_strings] = "a list of strings",
		[KIND_object] = "an object",
		[KIND_texts] = "an object whose values are strings",
	};

	buf_addf(b, "%s%s", kinds[s->kind], s->words);
	if (s->kind == KIND_int && s->max < DRIVER_MAX)
		buf_addf(b, " from %.0f to %.0f", s->min, s->max);
	else if (s->kind == KIND_int)
		buf_addf(b, ", at least %.0f", s->min);
}

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

static int refuse_value(const struct setting *s, const cJSON *v, struct err *e)
{
	struct buf text = BUF_MAX(600);

	if (s->kind == KIND_strings || s->kind == KIND_texts) {
		buf_addf(&text, "config.%s must be ", s->name);
	} else {
		buf_addf(&text, "config.%s is ", s->name);
		add_given(&text, v);
		buf_adds(&text, "; it must be ");
	}
	add_valid(&text, s);
	err_set(e, ERR_INVALID, "%s", text.p);
	buf_fini(&text);
	return -1;
}

int driver_config_check(const char *driver, const cJSON *config, struct err *e)
{
	const cJSON *m;

	if (!config)
		return 0;
	if (!cJSON_IsObject(config))
		return err_set(e, ERR_INVALID, "config must be an object");
	cJSON_ArrayForEach(m, config)
	{
		const struct setting *s = find_setting(driver, m->string);

		if (!s)
			return refuse_setting(driver, m->string, e);
		if (!is_valid(s, m))
			return refuse_value(s, m, e);
	}
	return 0;
}
