/* Which members a definition may have. */
#include "schema/control/agent.h"

#include "lib/base/suggest.h"
#include "lib/base/text.h"

#include <string.h>

static const char *const known[] = {
#define AGENT_MEMBER(name) #name,
#define AGENT_INNER(outer, name)
#include "schema/control/agent_member.def"
#undef AGENT_MEMBER
#undef AGENT_INNER
};

static const struct inner {
	const char *name, *full;
} inners[] = {
#define AGENT_MEMBER(name)
#define AGENT_INNER(outer, name) {#name, #outer "." #name},
#include "schema/control/agent_member.def"
#undef AGENT_MEMBER
#undef AGENT_INNER
};

static bool is_known(const char *name)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i], name))
			return true;
	return !strncmp(name, "x-", 2);
}

static const char *guess(const char *name)
{
	struct suggestion near;

	for (size_t i = 0; i < sizeof inners / sizeof *inners; i++)
		if (!strcmp(inners[i].name, name) ||
		    !strcmp(inners[i].full, name))
			return inners[i].full;
	suggest_begin(&near, name);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		suggest_candidate(&near, known[i]);
	return suggest_end(&near);
}

static int refuse_member(const char *what, const char *name, struct err *e)
{
	const char *meant = guess(name);

	if (meant)
		return err_set(e, ERR_INVALID,
			       "%s: unknown member '%s'; did you mean '%s'?",
			       what, quoted(name).text, meant);
	return err_set(e, ERR_INVALID,
		       "%s: unknown member '%s'; custom members must start "
		       "with 'x-'",
		       what, quoted(name).text);
}

int agent_check_members(const char *what, const cJSON *def, const char *stored,
			struct err *e)
{
	struct err ignored;
	cJSON *old = stored ? json_parse("spec", stored, strlen(stored),
					 &ignored)
			    : NULL;
	const cJSON *v;
	int rc = 0;

	cJSON_ArrayForEach(v, def)
	{
		if (!rc && !cJSON_IsNull(v) && !is_known(v->string) &&
		    !cJSON_GetObjectItemCaseSensitive(old, v->string))
			rc = refuse_member(what, v->string, e);
	}
	cJSON_Delete(old);
	return rc;
}
