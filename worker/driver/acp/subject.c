#include "lib/base/text.h"
#include "worker/driver/acp/acp.h"
#include "worker/workspace/workspace.h"

#include <string.h>

void acp_add_path(struct acp *x, struct permission_subject *s, const char *path)
{
	const char *dir = x->run->workspace->dir;
	size_t n = strlen(dir);

	if (!path)
		return;
	if (strncmp(path, dir, n) == 0 && path[n] == '/')
		path += n + 1;
	for (int i = 0; i < s->npaths; i++)
		if (strcmp(s->paths[i], path) == 0)
			return;
	if (s->npaths < PERMISSION_PATHS)
		s->paths[s->npaths++] = arena_text(&x->run->arena, path);
	else
		s->more = true;
}

static const char *command_of(struct acp *x, const cJSON *v)
{
	struct buf b = BUF_MAX(SIZE_MAX / 2); /* rules apply to all of it */
	const cJSON *word;
	const char *text;

	if (cJSON_IsString(v))
		return arena_text(&x->run->arena, v->valuestring);
	cJSON_ArrayForEach(word, v)
	{
		if (cJSON_IsString(word))
			buf_addf(&b, "%s%s", b.n ? " " : "", word->valuestring);
	}
	text = b.n ? arena_text(&x->run->arena, b.p) : NULL;
	buf_fini(&b);
	return text;
}

static void each_path(struct acp *x, struct permission_subject *s,
		      const char *list)
{
	struct err ignored;
	cJSON *v = list ? json_parse("list", list, strlen(list), &ignored)
			: NULL;
	const cJSON *one;

	cJSON_ArrayForEach(one, v)
	{
		acp_add_path(x, s, json_text(one, "path", NULL));
	}
	cJSON_Delete(v);
}

void acp_subject(struct acp *x, const struct acp_call *c,
		 struct permission_subject *s)
{
	static const char *const names[] = {"path", "file_path", "filePath",
					    "filepath", "abs_path"};
	struct err ignored;
	cJSON *input = c->input ? json_parse("input", c->input,
					     strlen(c->input), &ignored)
				: NULL;

	*s = (struct permission_subject){.kind = c->kind, .title = c->title};
	each_path(x, s, c->locations);
	each_path(x, s, c->content); /* of diffs */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		acp_add_path(x, s, json_text(input, names[i], NULL));
	if (strcmp(c->kind, "execute") == 0) {
		s->command = command_of(x, json_member(input, "command"));
		if (!s->command)
			s->command = c->title;
	}
	cJSON_Delete(input);
}

static bool has_path(const struct permission_subject *s, const char *path)
{
	for (int i = 0; i < s->npaths; i++)
		if (strcmp(s->paths[i], path) == 0)
			return true;
	return false;
}

/* Is it part of a call that is in progress and was allowed? */
static bool is_part(struct acp *x, const struct acp_call *c,
		    const struct permission_subject *s)
{
	struct permission_subject of;

	if (!c->allowed || !c->open)
		return false;
	if (s->command)
		return strcmp(c->kind, "execute") == 0;
	acp_subject(x, c, &of);
	for (int i = 0; i < s->npaths; i++)
		if (!has_path(&of, s->paths[i]))
			return false;
	return s->npaths > 0 && !s->more;
}

enum permit acp_evaluate(struct acp *x, const struct permission_subject *s,
			 const char **rule)
{
	enum permit permit = permissions_evaluate(&x->config.permissions, s,
						  rule);

	if (!x->config.ruled)
		return PERMIT_ALLOW;
	for (const struct acp_call *c = x->calls; c && permit == PERMIT_ASK;
	     c = c->next)
		if (is_part(x, c, s))
			permit = PERMIT_ALLOW;
	return permit;
}
