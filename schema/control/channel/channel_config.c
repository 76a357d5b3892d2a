#include "schema/control/channel/channel.h"

#include "lib/base/text.h"
#include "lib/sandbox/spec.h"
#include "schema/control/channel/mail_address.h"
#include "schema/vocab.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { TYPE_text, TYPE_word, TYPE_int, TYPE_millis, TYPE_bytes };

struct setting {
	const char *name;
	int type;
	size_t offset;
	const char *text; /* default of texts and words */
	int64_t number;   /* default of the others */
	int64_t min, max;
	const char *words;
	const char *kinds;
};

#define DEFAULT_text(v)   .text = (v)
#define DEFAULT_word(v)   .text = (v)
#define DEFAULT_int(v)    .number = (v)
#define DEFAULT_millis(v) .number = MILLIS v
#define DEFAULT_bytes(v)  .number = BYTES v

#define MILLIS(n, unit) ((n)*INT64_C(1000) * SECONDS_##unit)
#define SECONDS_s       1
#define SECONDS_m       60
#define SECONDS_h       3600
#define SECONDS_d       86400
#define BYTES(n, unit)  ((n)*BYTES_##unit)
#define BYTES_m         (INT64_C(1) << 20)

static const struct setting settings[] = {
#define SETTING(name_, type_, def_, min_, max_, words_, kinds_, help) \
	{.name = #name_,                                              \
	 .type = TYPE_##type_,                                        \
	 .offset = offsetof(struct channel_config, name_),            \
	 DEFAULT_##type_(def_),                                       \
	 .min = (min_),                                               \
	 .max = (max_),                                               \
	 .words = (words_),                                           \
	 .kinds = (kinds_)},
#include "schema/control/channel/channel_setting.def"
#undef SETTING
};

#define NSETTINGS (sizeof settings / sizeof settings[0])

static bool is_number(const struct setting *s)
{
	return s->type != TYPE_text && s->type != TYPE_word;
}

static bool fits(const struct setting *s, const char *kind)
{
	return !strcmp(s->kinds, "*") || strstr(s->kinds, kind) != NULL;
}

static int read_number(const struct setting *s, const cJSON *v, int64_t *out,
		       struct err *e)
{
	int rc = 0;

	if (cJSON_IsNumber(v))
		*out = (int64_t)v->valuedouble;
	else if (cJSON_IsString(v) && s->type == TYPE_millis)
		rc = text_millis(s->name, v->valuestring, out, e);
	else if (cJSON_IsString(v) && s->type == TYPE_bytes)
		rc = text_bytes(s->name, v->valuestring, out, e);
	else if (cJSON_IsString(v))
		rc = text_i64(s->name, v->valuestring, s->min, s->max, out, e);
	else
		return err_set(e, ERR_INVALID, "%s must be a number", s->name);
	if (rc == 0 && (*out < s->min || *out > s->max))
		return err_set(e, ERR_INVALID,
			       "%s must be between %lld and %lld", s->name,
			       (long long)s->min, (long long)s->max);
	return rc;
}

static int read_text(const struct setting *s, const cJSON *v, const char **out,
		     struct arena *a, struct err *e)
{
	if (!cJSON_IsString(v))
		return err_set(e, ERR_INVALID, "%s must be a string", s->name);
	if (s->type == TYPE_word)
		return text_check_word(s->name, s->words, v->valuestring, e) ||
				       !(*out = arena_text(a, v->valuestring))
			       ? -1
			       : 0;
	if (v->valuestring[0] &&
	    text_check_key(s->name, v->valuestring, (size_t)s->max, e))
		return -1;
	*out = arena_text(a, v->valuestring);
	return 0;
}

static const struct setting *find_setting(const char *name)
{
	for (size_t i = 0; i < NSETTINGS; i++)
		if (!strcmp(settings[i].name, name))
			return &settings[i];
	return NULL;
}

static void set_defaults(struct channel_config *c)
{
	for (size_t i = 0; i < NSETTINGS; i++) {
		void *at = (char *)c + settings[i].offset;

		if (is_number(&settings[i]))
			*(int64_t *)at = settings[i].number;
		else
			*(const char **)at = settings[i].text;
	}
}

static int no_setting(const char *kind, const char *name, struct err *e)
{
	struct buf known = BUF_MAX(600);

	for (size_t i = 0; i < NSETTINGS; i++)
		if (fits(&settings[i], kind))
			buf_addf(&known, "%s%s", known.n ? ", " : "",
				 settings[i].name);
	err_set(e, ERR_INVALID,
		"a %s channel has no setting '%s'; its settings are %s", kind,
		quoted(name).text, known.p);
	buf_fini(&known);
	return -1;
}

static int set_one(struct channel_config *c, const char *kind, const cJSON *v,
		   struct arena *a, struct err *e)
{
	const struct setting *s = find_setting(v->string);
	void *at;

	if (!s || !fits(s, kind)) {
		if (!strcmp(kind, "plugin"))
			return 0; /* its own */
		return no_setting(kind, v->string, e);
	}
	if (cJSON_IsNull(v))
		return 0;
	at = (char *)c + s->offset;
	return is_number(s) ? read_number(s, v, at, e)
			    : read_text(s, v, at, a, e);
}

/* The file of a secret is always in credentials/. */
static int check_file(const char *what, const char *name, struct err *e)
{
	if (name[0] && (strchr(name, '/') || name[0] == '.'))
		return err_set(e, ERR_INVALID,
			       "%s must be the name of a file in "
			       "credentials/, not '%s'",
			       what, quoted(name).text);
	return 0;
}

/* SCHEME://HOST…, with one of these schemes, without user and password. */
static int check_url(const char *what, const char *url, const char *schemes,
		     struct err *e)
{
	const char *host = strstr(url, "://");
	char scheme[16];
	struct err ignored;

	if (!url[0])
		return 0;
	snprintf(scheme, sizeof scheme, "%.*s", host ? (int)(host - url) : 0,
		 url);
	if (text_check_word("scheme", schemes, scheme, &ignored))
		return err_set(e, ERR_INVALID,
			       "%s must be SCHEME://HOST, where SCHEME is "
			       "one of %s",
			       what, schemes);
	if (!strcspn(host + 3, "/?#") || strpbrk(url, " \t\\"))
		return err_set(e, ERR_INVALID,
			       "%s has no host, or contains a space", what);
	return channel_check_url(what, url, e);
}

static int check_mail(const struct channel_config *c, struct arena *a,
		      struct err *e)
{
	struct mail_address m;

	if (!c->server[0] || !c->from[0])
		return err_set(e, ERR_INVALID,
			       "an smtp channel needs server and from");
	if (mail_address_read(&m, "from", c->from, a, e))
		return -1;
	return c->to[0] ? mail_address_read(&m, "to", c->to, a, e) : 0;
}

/* In another order, polling clients would not find their own messages. */
static int check_order(const struct channel_config *c, struct err *e)
{
	if (strcmp(c->order, "conversation") != 0)
		return err_set(e, ERR_INVALID,
			       "order must be conversation on a pull "
			       "channel, not %s; clients read each "
			       "conversation separately",
			       c->order);
	return 0;
}

static int read_all(struct channel_config *c, const char *kind,
		    const cJSON *root, struct arena *a, struct err *e)
{
	struct sandbox_spec sandbox;
	const cJSON *v;

	cJSON_ArrayForEach(v, root)
	{
		if (set_one(c, kind, v, a, e))
			return -1;
	}
	return strcmp(kind, "plugin") == 0
		       ? sandbox_spec_read_plugin(&sandbox, root, a, e)
		       : 0;
}

int channel_config_read(struct channel_config *c, const char *kind,
			const char *json, struct arena *a, struct err *e)
{
	cJSON *root = json_parse_object("config", json, strlen(json), e);
	int rc;

	set_defaults(c);
	rc = root ? read_all(c, kind, root, a, e) : -1;
	cJSON_Delete(root);
	if (rc || check_file("secret_file", c->secret_file, e) ||
	    check_file("password_file", c->password_file, e))
		return -1;
	if (c->path[0] && c->path[0] != '/')
		return err_set(e, ERR_INVALID,
			       "path must be absolute, not '%s'",
			       quoted(c->path).text);
	if ((!strcmp(kind, "smtp") && check_mail(c, a, e)) ||
	    (!strcmp(kind, "pull") && check_order(c, e)))
		return -1;
	if (check_url("url", c->url, "https|http", e) ||
	    check_url("proxy", c->proxy, "http|https|socks5h", e) ||
	    check_url("server", c->server, "smtp|smtps", e))
		return -1;
	return 0;
}
