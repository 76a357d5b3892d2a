#include "worker/driver/chat/config.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/definition.h"
#include "schema/home.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int64_t other;
	size_t offset;
} limits[] = {
#define LIMIT(name, other, help) \
	{#name, other, offsetof(struct chat_limits, name)},
#include "worker/driver/chat/limits.def"
#undef LIMIT
};

static bool is_setting(const char *name)
{
	char path[DEFINITION_PATH];

	text_printf(path, sizeof path, "config.%s", name);
	return definition_find(path, "chat") != NULL;
}

/* definition_check_config has checked the values. */
static void read_limits(struct chat_config *c, const cJSON *v)
{
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		const cJSON *m = cJSON_GetObjectItemCaseSensitive(
			v, limits[i].name);
		int64_t *to = (int64_t *)(void *)((char *)&c->limits +
						  limits[i].offset);

		assert(is_setting(limits[i].name));
		*to = limits[i].other;
		if (m)
			*to = (int64_t)m->valuedouble;
	}
}

/* Must not contain a user and a password. */
static const char *name_source(const struct chat_config *c, const char *model,
			       struct arena *a)
{
	const char *host = strstr(c->url, "://") + 3;
	size_t n = strcspn(host, "/?#");
	const char *at = memchr(host, '@', n);

	if (at) {
		n -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	return arena_printf(a, "%s %.*s %s",
			    c->responses ? "responses" : "chat", (int)n, host,
			    model);
}

/* The base, the complete address, or with a slash at its end. */
static int read_url(struct chat_config *c, const cJSON *v, struct arena *a,
		    struct err *e)
{
	const char *base = json_text(v, "endpoint", NULL);
	const char *api = json_text(v, "api", "chat");
	const char *end;
	size_t n;

	if (!base)
		return err_set(e, ERR_INVALID,
			       "config.endpoint is missing: the URL of a "
			       "server, such as https://host/v1; 'skep agent "
			       "set AGENT --endpoint URL' sets it");
	c->responses = strcmp(api, "responses") == 0;
	end = c->responses ? "/responses" : "/chat/completions";
	n = strlen(base);
	while (n > 0 && base[n - 1] == '/')
		n--;
	c->url = n > strlen(end) && strncmp(base + n - strlen(end), end,
					    strlen(end)) == 0
			 ? arena_textn(a, base, n)
			 : arena_printf(a, "%.*s%s", (int)n, base, end);
	c->from = name_source(c, c->model, a);
	return 0;
}

static int read_key(struct chat_config *c, const cJSON *v, const char *home,
		    struct err *e)
{
	const char *file = json_text(v, "key_file", NULL);
	const char *name = json_text(v, "key_env", NULL);
	const char *value = name ? home_env(name) : NULL;

	if (file)
		return secret_read(&c->key, file, home, e) ? err_wrap(e, "chat")
							   : 0;
	if (name && !value)
		return err_set(e, ERR_INVALID,
			       "chat: the environment of skepd has no "
			       "variable %s",
			       quoted(name).text);
	c->key = value ? strdup(value) : NULL;
	return 0;
}

static int read_headers(struct chat_config *c, const cJSON *v, const char *home,
			struct arena *a, struct err *e)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(v, "headers");

	return headers_read(&c->headers, m, home, a, e) ? err_wrap(e, "chat")
							: 0;
}

static double number_member(const cJSON *v, const char *name)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(v, name);

	return cJSON_IsNumber(m) && m->valuedouble > 0 ? m->valuedouble : 0;
}

/* Of the definition, or else of prices.json. */
static int read_price(struct chat_config *c, const struct msg_start *s,
		      const cJSON *own, struct err *e)
{
	struct model_price p = {0};

	if (own) {
		p.input = number_member(own, "input");
		p.output = number_member(own, "output");
		p.cached = number_member(own, "cached");
	} else if (s->home && c->model &&
		   price_find(s->home, c->model, &p, e) < 0) {
		return err_wrap(e, "chat");
	}
	c->price_input = p.input;
	c->price_output = p.output;
	c->price_cached = p.cached;
	return 0;
}

static int read_fallbacks(struct chat_config *c, const struct msg_start *s,
			  const cJSON *v, struct arena *a, struct err *e)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(v, "fallback"))
	{
		struct chat_model *next = &c->fallbacks[c->nfallbacks];

		if (c->nfallbacks++ == CHAT_FALLBACKS)
			return err_set(e, ERR_INVALID,
				       "chat: fallback has more than %d models",
				       CHAT_FALLBACKS);
		*next = (struct chat_model){
			.name = arena_text(a, m->valuestring)};
		next->from = name_source(c, next->name, a);
		if (s->home &&
		    price_find(s->home, next->name, &next->price, e) < 0)
			return err_wrap(e, "chat");
	}
	return 0;
}

const char *chat_config_fall_back(struct chat_config *c)
{
	struct chat_model next = c->fallbacks[0];

	if (c->nfallbacks == 0)
		return NULL;
	c->nfallbacks--;
	memmove(c->fallbacks, c->fallbacks + 1,
		(size_t)c->nfallbacks * sizeof *c->fallbacks);
	c->model = next.name;
	c->from = next.from;
	c->price_input = next.price.input;
	c->price_cached = next.price.cached;
	c->price_output = next.price.output;
	return c->model;
}

static void read_tools(struct chat_config *c, const cJSON *v, struct arena *a)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(v, "tools");
	const cJSON *m;

	c->exec = json_bool(v, "exec", false);
	if (!list)
		return;
	c->tools = arena_alloc(a, (size_t)(cJSON_GetArraySize(list) + 1) *
					  sizeof *c->tools);
	cJSON_ArrayForEach(m, list)
	{
		c->tools[c->ntools++] = arena_text(a, m->valuestring);
	}
}

static int read_params(struct chat_config *c, const cJSON *v, struct arena *a,
		       struct err *e)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(v, "params");
	struct buf b = BUF_MAX(65536);
	int rc;

	if (!m)
		return 0;
	json_add(&b, m);
	rc = buf_ok(&b, "params", e);
	c->params = rc ? NULL : arena_text(a, b.p);
	buf_fini(&b);
	return rc;
}

static int read_members(struct chat_config *c, const struct msg_start *s,
			const cJSON *v, struct arena *a, struct err *e)
{
	const cJSON *price = cJSON_GetObjectItemCaseSensitive(v, "price");

	if (definition_check_config("chat", v, e))
		return -1;
	c->system = s->system;
	c->ruled = cJSON_HasObjectItem(v, "permissions");
	c->model = arena_text(a, json_text(v, "model", s->model));
	if (read_price(c, s, price, e))
		return -1;
	c->max_cost = number_member(v, "max_cost");
	c->images = json_bool(v, "images", true);
	c->files = json_bool(v, "files", true);
	if (!c->model)
		return err_set(e, ERR_INVALID,
			       "chat: no model is set; use 'skep agent set "
			       "AGENT --model MODEL'");
	read_limits(c, v);
	read_tools(c, v, a);
	return read_url(c, v, a, e) || read_fallbacks(c, s, v, a, e) ||
			       read_params(c, v, a, e) ||
			       permissions_read(&c->permissions, v, a, e) ||
			       read_headers(c, v, s->home, a, e) ||
			       mcp_servers_read(&c->servers, v, s, a, e) ||
			       read_key(c, v, s->home, e)
		       ? -1
		       : 0;
}

int chat_config_read(struct chat_config *c, const struct msg_start *s,
		     struct arena *a, struct err *e)
{
	const char *text = s->config ? s->config : "{}";
	cJSON *v = json_parse_object("chat", text, strlen(text), e);
	int rc;

	*c = (struct chat_config){0};
	if (!v)
		return -1;
	rc = read_members(c, s, v, a, e);
	cJSON_Delete(v);
	return rc;
}

void chat_config_clear(struct chat_config *c)
{
	if (!c->key)
		return;
	explicit_bzero(c->key, strlen(c->key));
	free(c->key);
	c->key = NULL;
}
