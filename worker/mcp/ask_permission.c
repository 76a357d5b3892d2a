#include "lib/json/json.h"
#include "worker/mcp/mcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INPUT_MAX  (32u << 10) /* arguments that a user should see */
#define ANSWER_MAX 8192

/* The subject for the rules; worker/driver/acp/mcp_permission.h has the
 * protocol. */
static const struct kind {
	const char *tool, *kind;
} kinds[] = {
#define CHAT_TOOL(name, kind, again) {#name, #kind},
#include "worker/driver/chat/tools.def"
#undef CHAT_TOOL
};

static const char *kind_of(const char *tool)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].tool, tool) == 0)
			return kinds[i].kind;
	return "other";
}

static void add_path(struct buf *b, const cJSON *v)
{
	const char *path = cJSON_GetStringValue(v);

	if (path)
		json_add_text(b, path);
}

static void put_paths(struct buf *b, const cJSON *args)
{
	static const char *const names[] = {"path", "source", "destination"};
	const cJSON *v;

	json_put_array(b, "paths");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		add_path(b, cJSON_GetObjectItemCaseSensitive(args, names[i]));
	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(args, "paths"))
	{
		add_path(b, v);
	}
	json_end_array(b);
}

static int write_question(int fd, const char *tool, const cJSON *args)
{
	struct buf b = BUF_MAX(2 * INPUT_MAX), input = BUF_MAX(INPUT_MAX);
	bool sent;

	json_begin_object(&b);
	json_put_text(&b, "tool", tool);
	json_put_text(&b, "kind", kind_of(tool));
	put_paths(&b, args);
	json_add(&input, args);
	json_put_raw(&b, "input",
		     input.over ? "{\"truncated\":true}"
		     : input.n  ? input.p
				: NULL);
	json_end_object(&b);
	buf_addc(&b, '\n');
	sent = !b.over && send(fd, b.p, b.n, MSG_NOSIGNAL) == (ssize_t)b.n;
	buf_fini(&b);
	buf_fini(&input);
	return sent ? 0 : -1;
}

/* Reads a line; a user may take any time to answer. */
static int read_answer(int fd, char out[ANSWER_MAX])
{
	size_t n = 0;

	while (n < ANSWER_MAX - 1) {
		ssize_t got = read(fd, out + n, ANSWER_MAX - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		n += (size_t)got;
		out[n] = '\0';
		if (out[n - 1] == '\n')
			return 0;
	}
	return -1;
}

int mcp_ask(int fd, const char *tool, const cJSON *args, struct err *e)
{
	char text[ANSWER_MAX];
	struct err bad;
	cJSON *v;
	bool allow;

	if (write_question(fd, tool, args) || read_answer(fd, text))
		return err_set(e, ERR_DENIED,
			       "%s: the worker did not answer the "
			       "permission request",
			       tool);
	v = json_parse_object("an answer", text, strlen(text), &bad);
	allow = json_bool(v, "allow", false);
	if (!allow)
		err_set(e, ERR_DENIED, "%s: %s", tool,
			json_text(v, "why", "it was not permitted"));
	cJSON_Delete(v);
	return allow ? 0 : -1;
}
