/* Whatever an agent asks of its workspace's server: every answer is a message,
 * and nothing outside of the workspace is touched. */
#include "tests/support/fuzz.h"

#include "worker/mcp/mcp.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CANARY "untouched"

static char top[] = "/tmp/skep-fuzz-mcp-XXXXXX";
static char root[64], canary[64];

static void clean_workspace(void)
{
	struct beneath b = {.fd = open(root, O_RDONLY | O_DIRECTORY),
			    .dir = root};

	beneath_empty(&b);
	beneath_close(&b);
}

static void clean_all(void)
{
	clean_workspace();
	(void)unlink(canary);
	(void)rmdir(root);
	(void)rmdir(top);
}

static void set_up_workspace(void)
{
	int fd;

	require(mkdtemp(top) != NULL);
	snprintf(root, sizeof root, "%s/root", top);
	snprintf(canary, sizeof canary, "%s/canary", top);
	require(mkdir(root, 0700) == 0);
	fd = open(canary, O_CREAT | O_WRONLY, 0600);
	require(write(fd, CANARY, strlen(CANARY)) == (ssize_t)strlen(CANARY));
	close(fd);
	(void)atexit(clean_all);
}

static void check_canary(void)
{
	char text[32] = "";
	int fd = open(canary, O_RDONLY);

	require(fd >= 0 && read(fd, text, sizeof text - 1) >= 0);
	close(fd);
	require(strcmp(text, CANARY) == 0);
}

static int check_reply_line(void *arg, const struct line *line, struct err *e)
{
	cJSON *v = json_parse_object("sent", line->p, line->n, e);

	(void)arg;
	require(v && cJSON_GetObjectItemCaseSensitive(v, "id"));
	require((!cJSON_GetObjectItemCaseSensitive(v, "result")) !=
		(!cJSON_GetObjectItemCaseSensitive(v, "error")));
	cJSON_Delete(v);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct files store;
	struct lines sent;
	struct mcp m;
	struct err e;

	if (!root[0])
		set_up_workspace();
	files_dir(&store, root, open(root, O_RDONLY | O_DIRECTORY));
	mcp_init(&m, &store);
	require(mcp_feed(&m, (const char *)data, size, &e) == 0);
	lines_init(&sent, 64u << 20);
	require(lines_add(&sent, m.out.p, m.out.n, check_reply_line, NULL,
			  &e) == 0);
	lines_fini(&sent);
	mcp_fini(&m);
	files_close(&store);
	check_canary();
	clean_workspace();
	return 0;
}
