/* The MCP servers that are offered to an agent: the workspace, and those of the
 * user. The agent starts them in its sandbox. */
#include "ipc/run_socket.h"
#include "worker/driver/acp/acp.h"
#include "worker/workspace/workspace.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_pair(struct buf *b, const char *name, size_t n,
		     const char *value)
{
	json_begin_object(b);
	json_key(b, "name");
	json_add_string(b, name, n);
	json_put_text(b, "value", value);
	json_end_object(b);
}

/* A variable of the worker, if it is set. */
static void add_own(struct buf *b, const char *name)
{
	const char *value = getenv(name);

	if (value)
		add_pair(b, name, strlen(name), value);
}

static void add_workspace(struct acp *x, struct buf *b)
{
	char program[PATH_MAX];
	struct err ignored; /* without it the agent has its own tools */

	if (!x->config.mcp || !x->mcp || workspace_program(program, &ignored))
		return;
	json_begin_object(b);
	json_put_text(b, "name", "skep");
	json_put_text(b, "command", program);
	json_put_array(b, "args");
	json_add_text(b, "--mcp");
	json_add_text(b, x->run->workspace->dir);
	json_add_text(b, x->run->ask_socket);
	json_end_array(b);
	json_put_array(b, "env");
	add_own(b, RUN_SOCKET_ENV);
	add_own(b, RUN_TOKEN_ENV);
	json_end_array(b);
	json_end_object(b);
}

/* The protocol requires an absolute path. A program that is not found here may
 * exist in the sandbox. */
static const char *full_path(const struct exec_config *c, char out[PATH_MAX])
{
	const char *path = "/usr/local/bin:/usr/bin:/bin", *name = c->argv[0];

	for (char *const *v = c->env; *v; v++)
		if (strncmp(*v, "PATH=", 5) == 0)
			path = *v + 5;
	while (!strchr(name, '/') && *path) {
		size_t n = strcspn(path, ":");

		snprintf(out, PATH_MAX, "%.*s/%s", (int)n, path, name);
		if (access(out, X_OK) == 0)
			return out;
		path += n + (path[n] == ':');
	}
	return name;
}

static void add_command(struct buf *b, const struct mcp_server *s)
{
	char path[PATH_MAX];

	json_begin_object(b);
	json_put_text(b, "name", s->name);
	json_put_text(b, "command", full_path(&s->exec, path));
	json_put_array(b, "args");
	for (int i = 1; s->exec.argv[i]; i++)
		json_add_text(b, s->exec.argv[i]);
	json_end_array(b);
	json_put_array(b, "env");
	for (char **v = s->own_env; *v; v++)
		add_pair(b, *v, strcspn(*v, "="), strchr(*v, '=') + 1);
	json_end_array(b);
	json_end_object(b);
}

static void add_url(struct buf *b, const struct mcp_server *s)
{
	json_begin_object(b);
	json_put_text(b, "type", "http");
	json_put_text(b, "name", s->name);
	json_put_text(b, "url", s->url);
	json_put_array(b, "headers");
	for (int i = 0; i < s->headers.n; i++)
		add_pair(b, s->headers.list[i].name,
			 strlen(s->headers.list[i].name),
			 s->headers.list[i].value);
	json_end_array(b);
	json_end_object(b);
}

static void note_left_out(struct acp *x, const struct mcp_server *s)
{
	struct err ignored; /* a note */

	(void)transcript_add_text(&x->run->transcript, "note", &ignored,
				  "the agent takes no MCP servers with a url: "
				  "it has no %s",
				  s->name);
}

void acp_add_servers(struct acp *x, struct buf *out)
{
	json_begin_array(out);
	add_workspace(x, out);
	for (int i = 0; i < x->config.servers.n; i++) {
		const struct mcp_server *s = &x->config.servers.list[i];

		if (s->url && !x->can_mcp_http) {
			note_left_out(x, s);
			continue;
		}
		if (s->url)
			add_url(out, s);
		else
			add_command(out, s);
	}
	json_end_array(out);
}
