#include "schema/secret.h"

#include "lib/base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_BYTES   64
#define DEPTH_MAX    64
#define BEARER_LEAST 16

static const char *const names[] = {
#define SECRET_NAME(end) end,
#define SECRET_SHAPE(prefix, least)
#include "schema/secret.def"
#undef SECRET_NAME
#undef SECRET_SHAPE
};

static const struct {
	const char *prefix;
	size_t least;
} shapes[] = {
#define SECRET_NAME(end)
#define SECRET_SHAPE(prefix, least) {prefix, least},
#include "schema/secret.def"
#undef SECRET_NAME
#undef SECRET_SHAPE
};

/* "--Bot-Token" as "bottoken": compares the end. */
static void plain_name(const char *p, size_t n, char out[NAME_BYTES])
{
	size_t k = NAME_BYTES - 1;

	out[k] = '\0';
	while (n > 0 && k > 0)
		if (isalnum((unsigned char)p[--n]))
			out[--k] = (char)tolower((unsigned char)p[n]);
	memmove(out, out + k, NAME_BYTES - k);
}

static bool secret_is_name(const char *p, size_t n)
{
	char name[NAME_BYTES];
	size_t len;

	plain_name(p, n, name);
	len = strlen(name);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		size_t end = strlen(names[i]);

		if (len >= end && !strcmp(name + len - end, names[i]))
			return true;
	}
	return false;
}

/* Empty, or a reference that a shell or a driver replaces. */
static bool is_reference(const char *value)
{
	value += strspn(value, "\"' \t");
	return !*value || strchr("$`<{%", *value);
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || strchr("_-.+/=", c);
}

static size_t word_length(const char *p)
{
	size_t n = 0;

	while (p[n] && is_word_char(p[n]))
		n++;
	return n;
}

static bool has_shape(const char *word)
{
	size_t n = word_length(word);

	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		size_t len = strlen(shapes[i].prefix);

		if (n >= len + shapes[i].least &&
		    !strncmp(word, shapes[i].prefix, len))
			return true;
	}
	return false;
}

/* "Bearer WORD", in a header of any name; short words are ordinary text. */
static bool is_bearer(const char *p)
{
	return !strncasecmp(p, "bearer ", 7) &&
	       word_length(p + 7) >= BEARER_LEAST;
}

/* A known form at the start of any word of the text. */
static bool has_shaped_word(const char *text)
{
	for (const char *p = text; *p; p++) {
		bool starts = p == text ||
			      !(isalnum((unsigned char)p[-1]) || p[-1] == '_');

		if (starts && (has_shape(p) || is_bearer(p)))
			return true;
	}
	return strstr(text, "PRIVATE KEY-----") != NULL;
}

/* "://user:password@", or anything before the @ of http. */
static bool has_url_password(const char *text)
{
	for (const char *p = text; (p = strstr(p, "://")); p += 3) {
		size_t n = strcspn(p + 3, "/?# \t\n\"'");
		const char *at = memchr(p + 3, '@', n);
		const char *colon = memchr(p + 3, ':', n);
		bool http = p - text >= 4 && (!strncmp(p - 4, "http", 4) ||
					      !strncmp(p - 4, "ttps", 4));

		if (!at || at == p + 3)
			continue;
		if (colon && colon < at)
			colon++;
		else
			colon = http ? p + 3 : NULL;
		if (colon && colon < at && !is_reference(colon))
			return true;
	}
	return false;
}

/* NAME=VALUE and NAME: VALUE, where NAME is the name of a secret: an
 * assignment, an option, a parameter of a URL, a header. */
static bool has_assignment(const char *text)
{
	for (const char *p = text; (p = strpbrk(p, "=:")); p++) {
		const char *name = p, *value = p + 1;

		while (name > text && (isalnum((unsigned char)name[-1]) ||
				       strchr("_-", name[-1])))
			name--;
		if (name == p || !secret_is_name(name, (size_t)(p - name)))
			continue;
		value += strspn(value, " ");
		if (!strncasecmp(value, "bearer ", 7) ||
		    !strncasecmp(value, "basic ", 6) ||
		    !strncasecmp(value, "token ", 6))
			value += strcspn(value, " ") + 1;
		if (!is_reference(value) && value[0] != '&' && value[0] != ';')
			return true;
	}
	return false;
}

static bool secret_is_in(const char *text)
{
	return has_shaped_word(text) || has_url_password(text) ||
	       has_assignment(text);
}

static int refuse_secret(const char *where, struct err *e)
{
	return err_set(
		e, ERR_INVALID,
		"%s looks like a secret, which would be stored and "
		"shown. Put it in a file in credentials/ and name that "
		"file (key_file, NAME_file, {\"file\": NAME}), or take it "
		"from skepd's environment (\"pass\": [NAME], key_env, "
		"{\"env\": NAME})",
		where);
}

int secret_check_words(const char *what, const cJSON *words, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, words)
	{
		const char *word = v->valuestring;
		const char *next = v->next ? v->next->valuestring : NULL;

		if (!cJSON_IsString(v))
			continue; /* another check rejects it */
		if (secret_is_in(word) ||
		    (word[0] == '-' && !strchr(word, '=') &&
		     secret_is_name(word, strlen(word)) && next &&
		     next[0] != '-' && !is_reference(next)))
			return refuse_secret(what, e);
	}
	return 0;
}

/* --- definitions ---------------------------------------------------------- */

struct walk {
	const char *what;
	const cJSON *up[DEPTH_MAX];
	int depth;
};

static int refuse_at(const struct walk *w, const cJSON *v, struct err *e)
{
	struct buf path = BUF_MAX(200);

	buf_addf(&path, "%s: ", w->what);
	for (int i = 0; i < w->depth; i++)
		if (w->up[i]->string)
			buf_addf(&path, "%s.", quoted(w->up[i]->string).text);
	if (v->string)
		buf_adds(&path, quoted(v->string).text);
	else if (path.n && path.p[path.n - 1] == '.')
		path.p[--path.n] = '\0';
	refuse_secret(path.p, e);
	buf_fini(&path);
	return -1;
}

/* Text for a model may mention passwords. */
static bool is_prose(const char *name)
{
	return name && (!strcmp(name, "prompt") || !strcmp(name, "system") ||
			!strcmp(name, "description"));
}

/* {"name": "API_TOKEN", "value": "…"} */
static bool is_named_value(const cJSON *v, const cJSON *parent)
{
	const char *name = json_text(parent, "name", NULL);

	return name && v->string && !strcmp(v->string, "value") &&
	       secret_is_name(name, strlen(name));
}

static bool is_secret(const cJSON *v, const cJSON *parent)
{
	const char *text = v->valuestring;

	if (!cJSON_IsString(v) || is_reference(text))
		return false;
	if ((v->string && secret_is_name(v->string, strlen(v->string))) ||
	    is_named_value(v, parent))
		return true;
	if (is_prose(v->string))
		return has_shaped_word(text) || has_url_password(text);
	return secret_is_in(text);
}

/* Walks without recursion. */
int secret_check(const char *what, const cJSON *root, struct err *e)
{
	struct walk w = {.what = what};
	const cJSON *v = root->child, *parent = root;

	while (v || w.depth > 0) {
		if (!v) {
			v = w.up[--w.depth]->next;
			parent = w.depth ? w.up[w.depth - 1] : root;
			continue;
		}
		if (is_secret(v, parent) ||
		    (cJSON_IsArray(v) && secret_check_words("", v, e)))
			return refuse_at(&w, v, e);
		if (!v->child) {
			v = v->next;
			continue;
		}
		if (w.depth == DEPTH_MAX)
			return err_set(e, ERR_INVALID,
				       "%s: nested deeper than %d", what,
				       DEPTH_MAX);
		w.up[w.depth++] = parent = v;
		v = v->child;
	}
	return 0;
}
