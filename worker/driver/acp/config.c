#include "worker/driver/acp/config.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/definition.h"

#include <string.h>

static int read_options(struct acp_config *c, const cJSON *v, struct arena *a,
			struct err *e)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(v, "options");
	const cJSON *m;

	c->options = arena_alloc(a, (size_t)(cJSON_GetArraySize(list) + 1) *
					    sizeof *c->options);
	cJSON_ArrayForEach(m, list)
	{
		struct buf b = BUF_MAX(64u << 10);

		if (!cJSON_IsString(m) && !cJSON_IsBool(m))
			return err_set(
				e, ERR_INVALID,
				"acp: options.%s must be a string, true or "
				"false",
				quoted(m->string).text);
		json_add(&b, m);
		c->options[c->noptions++] = (struct acp_option){
			arena_text(a, m->string), arena_text(a, b.p)};
		buf_fini(&b);
	}
	return 0;
}

static int read_rest(struct acp_config *c, const cJSON *v, struct arena *a,
		     struct err *e)
{
	c->mode = arena_text(a, json_text(v, "mode", NULL));
	c->auth = arena_text(a, json_text(v, "auth", NULL));
	c->ruled = cJSON_GetObjectItemCaseSensitive(v, "permissions") != NULL;
	c->mcp = json_bool(v, "mcp", true);
	c->idle_ms = json_i64(v, "idle_ms", 0);
	c->ask_timeout_ms = json_i64(v, "ask_timeout_ms", OPT_NONE);
	return permissions_read(&c->permissions, v, a, e) ||
			       read_options(c, v, a, e)
		       ? -1
		       : 0;
}

int acp_config_read(struct acp_config *c, const struct msg_start *s,
		    const char *cwd, struct arena *a, struct err *e)
{
	const char *text = s->config ? s->config : "{}";
	cJSON *v = json_parse_object("acp", text, strlen(text), e);
	int rc;

	*c = (struct acp_config){.exec.cwd = cwd};
	if (!v)
		return -1;
	rc = definition_check_config("acp", v, e) ||
			     exec_config_command(&c->exec, v, s, a, e) ||
			     exec_config_network(&c->exec, a, e) ||
			     mcp_servers_read(&c->servers, v, s, a, e) ||
			     read_rest(c, v, a, e)
		     ? -1
		     : 0;
	cJSON_Delete(v);
	return rc;
}

static bool has_key(char *const *env)
{
	static const char end[] = "_API_KEY";

	for (; env && *env; env++) {
		size_t n = strcspn(*env, "="), k = sizeof end - 1;

		if (n > k && strncmp(*env + n - k, end, k) == 0 &&
		    (*env)[n] == '=' && (*env)[n + 1])
			return true;
	}
	return false;
}

const char *acp_key_login(const struct acp_config *c, const cJSON *methods)
{
	const cJSON *m;

	if (c->auth || !has_key(c->exec.env))
		return NULL;
	cJSON_ArrayForEach(m, methods)
	{
		const char *id = json_text(m, "id", "");

		if (strcasestr(id, "api-key") || strcasestr(id, "apikey"))
			return id;
	}
	return NULL;
}
