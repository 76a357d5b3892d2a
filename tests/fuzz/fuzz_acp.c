/* Whatever an ACP agent says: what we say is exact, what it did is kept as JSON,
 * and the run comes to an end with a reason or goes on. */
#include "tests/support/fuzz.h"

#include "worker/driver/acp/acp.h"
#include "worker/workspace/workspace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char top[] = "/tmp/skep-fuzz-acp-XXXXXX";
static char work[64], db[64];
static struct run run;
static struct msg_start start = {
	.run = "run_00000000000000000000000001",
	.attempt = 1,
	.agent = "a",
	.session = "main",
	.epoch = 1,
	.driver = "acp",
	.prompt = "go",
	.synchronous = "normal",
	.workspace_mode = "disk",
	.config = "{\"command\":[\"x\"],\"mode\":\"m\",\"options\":{\"a\":"
		  "true},\"permissions\":{\"deny\":[\"execute\"],"
		  "\"allow\":[\"*:a*\"],\"default\":\"deny\"}}"};

static void clean_directory(const char *dir)
{
	struct beneath b = {.fd = open(dir, O_RDONLY | O_DIRECTORY),
			    .dir = dir};

	beneath_empty(&b);
	beneath_close(&b);
}

static void clean_all(void)
{
	transcript_close(&run.transcript);
	clean_directory(top);
	(void)rmdir(top);
}

static void set_up_run(struct err *e)
{
	require(mkdtemp(top) != NULL);
	snprintf(work, sizeof work, "%s/work", top);
	snprintf(db, sizeof db, "%s/agent.sqlite", top);
	require(mkdir(work, 0700) == 0);
	start.agent_db = db;
	start.workspace = work;
	start.output_max = start.run_timeout_ms = OPT_NONE;
	run.start = &start;
	require(commands_init(&run.commands, e) == 0);
	require(transcript_open(&run.transcript, &start, NULL, e) == 0);
	require(transcript_begin(&run.transcript, &start, e) == 0);
	(void)atexit(clean_all);
}

static int check_sent_line(void *arg, const struct line *line, struct err *e)
{
	cJSON *v = json_parse_object("sent", line->p, line->n, e);
	const char *method = json_text(v, "method", NULL);

	(void)arg;
	require(v && strcmp(json_text(v, "jsonrpc", ""), "2.0") == 0);
	require(method || cJSON_GetObjectItemCaseSensitive(v, "id"));
	require(!method ||
		cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(v, "params")));
	cJSON_Delete(v);
	return 0;
}

static void talk_to(struct acp *x, const uint8_t *data, size_t size)
{
	struct lines sent;
	struct err e;

	require(acp_config_read(&x->config, &start, work, &run.arena, &e) == 0);
	require(acp_permissions_begin(x, &e) == 0);
	require(acp_files_begin(x, &e) == 0);
	require(acp_begin(x, &e) == 0);
	require(rpc_feed(&x->rpc, (const char *)data, size, &e) == 0);
	if (x->over && x->end->reason == REASON_completed) { /* the next run */
		require(exec_output_end(&x->subprocess.output, "done", &e) ==
			0);
		require(acp_close_calls(x, "done", &e) == 0);
		require(acp_begin_next_run(x, x->end, &e) == 0);
		require(rpc_feed(&x->rpc, (const char *)data, size, &e) == 0);
	}
	acp_cancel(x);
	require(acp_terminals_end(x, &e) == 0);
	require(stream_end_all(&x->subprocess.output.stream, "done", &e) == 0);
	require(acp_close_calls(x, "aborted", &e) == 0);
	lines_init(&sent, 64u << 20);
	require(lines_add(&sent, x->subprocess.input.p, x->subprocess.input.n,
			  check_sent_line, NULL, &e) == 0);
	lines_fini(&sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct workspace place = {.run = &run, .dir = work};
	struct run_end end = {.reason = REASON_internal};
	struct acp x;
	struct err e;

	if (!work[0])
		set_up_run(&e);
	run.workspace = &place;
	acp_init(&x, &run, &end);
	talk_to(&x, data, size);
	require(!x.over || end.reason != REASON_internal);
	acp_fini(&x);
	arena_fini(&run.arena);
	arena_fini(&run.lasting);
	clean_directory(work);
	return 0;
}
