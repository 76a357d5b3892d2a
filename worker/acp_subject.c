#include "base/text.h"
#include "worker/acp.h"
#include "worker/workspace.h"

#include <string.h>

static const cJSON *member(const cJSON *v, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(v, name);
}

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
	struct buf b = BUF_MAX(64u << 10);
	const cJSON *word;
	const char *text;

	if (cJSON_IsString(v))
		return arena_text(&x->run->arena, v->valuestring);
	cJSON_ArrayForEach(word, v)
	{
		if (cJSON_IsString(word))
			buf_addf(&b, "%s%s", b.n ? " " : "", word->valuestring);
	}
	text = b.n && !b.over ? arena_text(&x->run->arena, b.p) : NULL;
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
		s->command = command_of(x, member(input, "command"));
		if (!s->command)
			s->command = c->title;
	}
	cJSON_Delete(input);
}

bool acp_forbidden(struct acp *x, const struct rpc_ask *ask,
		   const struct permission_subject *s)
{
	const char *rule;
	struct buf why = BUF_MAX(1024);

	if (permissions_judge(&x->config.permissions, s, &rule) !=
		    PERMIT_DENY ||
	    !rule)
		return false;
	buf_addf(&why, "the rule %s denies it", quoted(rule).text);
	rpc_refuse(&x->rpc, ask->id, RPC_INTERNAL, why.p);
	buf_fini(&why);
	return true;
}
