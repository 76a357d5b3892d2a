#include "lib/json/rpc_scan.h"

#include <string.h>

/* A key that is too long is none that we look for. */
static void add_to_key(struct rpc_scan *s, char c)
{
	if (s->nkey < sizeof s->key - 1)
		s->key[s->nkey++] = c;
}

static void add_to_id(struct rpc_scan *s, char c)
{
	if (s->nid < sizeof s->id)
		s->id[s->nid++] = c;
}

/* A character of a member of the message, of its key or its value. */
static void add_char(struct rpc_scan *s, char c)
{
	if (!s->in_value && s->depth == 1)
		add_to_key(s, c);
	else if (s->is_id)
		add_to_id(s, c);
}

static bool has_key(const struct rpc_scan *s, const char *key)
{
	return s->nkey == strlen(key) && memcmp(s->key, key, s->nkey) == 0;
}

static void begin_value(struct rpc_scan *s)
{
	s->in_value = true;
	s->is_id = !s->has_id && has_key(s, "\"id\"");
	s->has_method = s->has_method || has_key(s, "\"method\"");
}

static void end_member(struct rpc_scan *s)
{
	s->has_id = s->has_id || s->is_id;
	s->in_value = s->is_id = false;
	s->nkey = 0;
}

static void scan_string(struct rpc_scan *s, char c)
{
	if (s->escaped)
		s->escaped = false;
	else if (c == '\\')
		s->escaped = true;
	else if (c == '"')
		s->in_string = false;
	add_char(s, c);
}

static void scan_token(struct rpc_scan *s, char c)
{
	bool in_message = s->depth == 1;

	if (strchr(" \t\r", c))
		return;
	if (in_message && c == ':') {
		begin_value(s);
		return;
	}
	if (in_message && (c == ',' || c == '}'))
		end_member(s);
	else if (s->depth > 0)
		add_char(s, c);
	s->in_string = c == '"';
	if (c == '{' || c == '[')
		s->depth++;
	else if (c == '}' || c == ']')
		s->depth--;
}

void rpc_scan_add(struct rpc_scan *s, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->in_string)
			scan_string(s, p[i]);
		else
			scan_token(s, p[i]);
	}
}

const char *rpc_scan_id(const struct rpc_scan *s)
{
	bool valid = s->has_id && s->nid > 0 && s->nid < sizeof s->id;
	struct err ignored;
	cJSON *v = valid ? json_parse("id", s->id, s->nid, &ignored) : NULL;

	valid = cJSON_IsString(v) || cJSON_IsNumber(v);
	cJSON_Delete(v);
	return valid ? s->id : NULL;
}
