#include "worker/driver/mcp_servers.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 32

static bool is_name(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-_";
	size_t n = strlen(name);

	return n > 0 && n <= NAME_MAX_BYTES && strspn(name, allowed) == n;
}

/* "env" and "pass", which were checked when the command was read. */
static void read_own_env(struct mcp_server *m, const cJSON *v, struct arena *a)
{
	const cJSON *env = cJSON_GetObjectItemCaseSensitive(v, "env");
	const cJSON *pass = cJSON_GetObjectItemCaseSensitive(v, "pass");
	int n = cJSON_GetArraySize(env) + cJSON_GetArraySize(pass), i = 0;
	const cJSON *p;

	m->own_env = arena_alloc(a, (size_t)(n + 1) * sizeof *m->own_env);
	cJSON_ArrayForEach(p, env)
	{
		m->own_env[i++] = arena_printf(a, "%s=%s", p->string,
					       p->valuestring);
	}
	cJSON_ArrayForEach(p, pass)
	{
		const char *value = getenv(p->valuestring);

		if (value)
			m->own_env[i++] = arena_printf(a, "%s=%s",
						       p->valuestring, value);
	}
}

/* "type" is optional: a server with a url uses http. */
static int check_type(const cJSON *v, struct err *e)
{
	const cJSON *type = cJSON_GetObjectItemCaseSensitive(v, "type");
	const char *word = cJSON_GetStringValue(type);
	bool has_url = cJSON_HasObjectItem(v, "url");

	if (!type || (word && !strcmp(word, has_url ? "http" : "stdio")))
		return 0;
	return err_set(e, ERR_INVALID,
		       "type must be \"http\" with a url, or "
		       "\"stdio\" with a command");
}

static int read_server(struct mcp_server *m, const cJSON *v,
		       const struct msg_start *start, struct arena *a,
		       struct err *e)
{
	static const char *const members[] = {"command", "shell", "env",
					      "pass",    "url",   "type",
					      "headers", NULL};

	*m = (struct mcp_server){.name = arena_text(a, v->string)};
	if (!is_name(v->string))
		return err_set(e, ERR_INVALID,
			       "a name must consist of at most %d letters, "
			       "digits, - and _",
			       NAME_MAX_BYTES);
	if (!cJSON_IsObject(v))
		return err_set(e, ERR_INVALID,
			       "a server is {\"command\": […]} or "
			       "{\"url\": \"https://…\"}");
	if (exec_config_members("a server", members, v, e) || check_type(v, e))
		return -1;
	m->url = arena_text(a, json_text(v, "url", NULL));
	if (!m->url) {
		if (exec_config_command(&m->exec, v, start, a, e) ||
		    exec_config_network(&m->exec, a, e))
			return -1;
		read_own_env(m, v, a);
		return 0;
	}
	if (strncmp(m->url, "http://", 7) != 0 &&
	    strncmp(m->url, "https://", 8) != 0)
		return err_set(e, ERR_INVALID,
			       "url must start with http:// or https://");
	return headers_read(&m->headers,
			    cJSON_GetObjectItemCaseSensitive(v, "headers"),
			    start->home, a, e);
}

int mcp_servers_read(struct mcp_servers *s, const cJSON *config,
		     const struct msg_start *start, struct arena *a,
		     struct err *e)
{
	const cJSON *all = cJSON_GetObjectItemCaseSensitive(config,
							    "mcp_servers");
	const cJSON *v;

	*s = (struct mcp_servers){0};
	if (!all)
		return 0;
	if (!cJSON_IsObject(all) || cJSON_GetArraySize(all) > MCP_SERVERS_MAX)
		return err_set(e, ERR_INVALID,
			       "mcp_servers must be an object with at most "
			       "%d servers",
			       MCP_SERVERS_MAX);
	s->list = arena_alloc(a, MCP_SERVERS_MAX * sizeof *s->list);
	cJSON_ArrayForEach(v, all)
	{
		if (read_server(&s->list[s->n++], v, start, a, e))
			return err_wrap(e, "mcp_servers.%s",
					quoted(v->string).text);
	}
	return 0;
}
