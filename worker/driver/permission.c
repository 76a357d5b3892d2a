#include "worker/driver/permission.h"

#include "lib/base/text.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

static const char *const words[] = {
	[PERMIT_ASK] = "ask", [PERMIT_ALLOW] = "allow", [PERMIT_DENY] = "deny"};

static void add_rule(struct permissions *p, const struct permission_rule *rule,
		     struct arena *a)
{
	struct permission_rule *r = arena_copy(a, rule, sizeof *rule);

	r->next = p->rules;
	p->rules = r;
}

static int read_rule(struct permissions *p, enum permit permit, const cJSON *v,
		     struct arena *a, struct err *e)
{
	struct permission_rule r = {.permit = permit};
	const char *colon;

	if (!cJSON_IsString(v) || !v->valuestring[0] ||
	    v->valuestring[0] == ':')
		return err_set(e, ERR_INVALID,
			       "permissions.%s: a rule must be \"kind\" or "
			       "\"kind:pattern\"",
			       words[permit]);
	r.text = arena_text(a, v->valuestring);
	colon = strchr(r.text, ':');
	r.kind = colon ? arena_textn(a, r.text, (size_t)(colon - r.text))
		       : r.text;
	r.pattern = colon ? colon + 1 : NULL;
	add_rule(p, &r, a);
	return 0;
}

static int read_list(struct permissions *p, enum permit permit, const cJSON *v,
		     struct arena *a, struct err *e)
{
	const cJSON *rule;

	if (!cJSON_IsArray(v))
		return err_set(e, ERR_INVALID,
			       "permissions.%s must be an array",
			       words[permit]);
	cJSON_ArrayForEach(rule, v)
	{
		if (read_rule(p, permit, rule, a, e))
			return -1;
	}
	return 0;
}

/* -1: unknown word. */
static int find_word(const char *word)
{
	for (int i = 0; i < 3; i++)
		if (word && strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static int read_member(struct permissions *p, const cJSON *m, struct arena *a,
		       struct err *e)
{
	int permit;

	if (strcmp(m->string, "default") == 0) {
		permit = find_word(cJSON_GetStringValue(m));
		p->other = permit < 0 ? PERMIT_ASK : (enum permit)permit;
		return permit >= 0 ? 0
				   : err_set(e, ERR_INVALID,
					     "permissions.default must be ask, "
					     "allow or "
					     "deny");
	}
	permit = find_word(m->string);
	if (permit < 0)
		return err_set(e, ERR_INVALID,
			       "permissions: unknown member %s; the members "
			       "are allow, deny, ask and default",
			       quoted(m->string).text);
	return read_list(p, (enum permit)permit, m, a, e);
}

int permissions_read(struct permissions *p, const cJSON *config,
		     struct arena *a, struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(config,
							  "permissions");
	const cJSON *m;

	*p = (struct permissions){.other = PERMIT_ASK};
	if (v && !cJSON_IsObject(v))
		return err_set(e, ERR_INVALID, "permissions must be an object");
	cJSON_ArrayForEach(m, v)
	{
		if (read_member(p, m, a, e))
			return -1;
	}
	return 0;
}

void permissions_grant(struct permissions *p, enum permit permit,
		       const char *kind, const char *pattern, struct arena *a)
{
	struct permission_rule r = {
		.permit = permit,
		.granted = true,
		.text = "a permission of the user for this session",
		.kind = kind,
		.pattern = pattern};

	add_rule(p, &r, a);
}

static bool fits(const char *pattern, const char *text)
{
	return text && fnmatch(pattern, text, 0) == 0;
}

/* For a shell this would be several commands, or a redirection. */
static bool is_one_command(const char *command)
{
	return !strpbrk(command, ";&|<>`$\n\r(){}");
}

static bool goes_up(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, ".."))) {
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
		at += 2;
	}
	return false;
}

/* Removes the last name, unless it is "..". False: there is none, and it is not
 * the root either. */
static bool strip(char *out, size_t *n)
{
	size_t at = *n;

	while (at > 0 && out[at - 1] != '/')
		at--;
	if (at == *n)
		return *n > 0;
	if (strncmp(out + at, "..", *n - at) == 0)
		return false;
	*n = at > 1 ? at - 1 : at;
	return true;
}

/* "./a//b/../c" as "a/c": one spelling per file. False: it does not fit. */
static bool plain_path(const char *path, char out[PATH_MAX])
{
	size_t n = 0;

	if (strlen(path) >= PATH_MAX)
		return false;
	if (*path == '/')
		out[n++] = '/';
	for (size_t len; *path; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 0 || (len == 1 && *path == '.') ||
		    (len == 2 && !strncmp(path, "..", 2) && strip(out, &n)))
			continue;
		if (n > 0 && out[n - 1] != '/')
			out[n++] = '/';
		memcpy(out + n, path, len);
		n += len;
	}
	out[n] = '\0';
	return true;
}

/* In any spelling; a path that is too long for a file is not exempt. */
static bool path_fits(const char *pattern, const char *path)
{
	char plain[PATH_MAX];

	return fits(pattern, path) || !plain_path(path, plain) ||
	       fits(pattern, plain);
}

static bool any_fits(const char *pattern, const struct permission_subject *s)
{
	for (int i = 0; i < s->npaths; i++)
		if (path_fits(pattern, s->paths[i]))
			return true;
	return fits(pattern, s->command) || fits(pattern, s->title);
}

/* A permission of a user for "always" covers exactly what was shown, whatever
 * it contains. */
static bool is_same(const char *pattern, const struct permission_subject *s)
{
	if (s->command)
		return fits(pattern, s->command);
	return s->npaths == 1 ? fits(pattern, s->paths[0])
			      : s->npaths == 0 && fits(pattern, s->title);
}

static bool all_fit(const char *pattern, const struct permission_subject *s)
{
	if (s->command)
		return is_one_command(s->command) && fits(pattern, s->command);
	for (int i = 0; i < s->npaths; i++)
		if (goes_up(s->paths[i]) || !fits(pattern, s->paths[i]))
			return false;
	return s->npaths > 0 ? !s->more : fits(pattern, s->title);
}

static bool applies(const struct permission_rule *r,
		    const struct permission_subject *s)
{
	if (strcmp(r->kind, "*") != 0 && strcmp(r->kind, s->kind) != 0)
		return false;
	if (!r->pattern)
		return true;
	if (r->granted)
		return is_same(r->pattern, s);
	return r->permit == PERMIT_ALLOW ? all_fit(r->pattern, s)
					 : any_fits(r->pattern, s);
}

/* The higher one wins. */
static int rank(const struct permission_rule *r)
{
	if (r->permit == PERMIT_DENY)
		return 4;
	if (r->granted)
		return 3;
	return r->permit == PERMIT_ASK ? 2 : 1;
}

enum permit permissions_evaluate(const struct permissions *p,
				 const struct permission_subject *s,
				 const char **rule)
{
	const struct permission_rule *best = NULL;

	for (const struct permission_rule *r = p->rules; r; r = r->next)
		if (applies(r, s) && (!best || rank(r) > rank(best)))
			best = r;
	*rule = best ? best->text : NULL;
	return best ? best->permit : p->other;
}

const char *permission_pattern(const struct permission_subject *s,
			       struct arena *a)
{
	const char *text = s->command       ? s->command
			   : s->npaths == 1 ? s->paths[0]
			   : s->npaths == 0 ? s->title
					    : NULL;
	struct buf b = BUF_MAX(8192);
	const char *out;

	if (!text || s->more)
		return NULL;
	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			buf_addc(&b, '\\');
		buf_addc(&b, *text);
	}
	out = b.over ? NULL : arena_text(a, b.p);
	buf_fini(&b);
	return out;
}
