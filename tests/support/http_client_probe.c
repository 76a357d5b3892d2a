/*
 * The client of http/ on the command line, for tests/system/api/test_http.py.
 *
 *   http_client_probe UNIX_PATH call METHOD PATH [BODY]
 *   http_client_probe UNIX_PATH follow PATH [LAST_ID [STOP_AT]]
 */
#include "lib/http/client.h"

#include <stdio.h>
#include <string.h>

static int print_event(void *arg, const struct sse_event *ev)
{
	const char *stop_at = arg;

	printf("%s\n", ev->id);
	fflush(stdout);
	return stop_at && strcmp(ev->id, stop_at) == 0;
}

static int call(struct http_client *c, int argc, char **argv, struct err *e)
{
	struct buf answer = BUF_MAX(16 << 20);
	int status = http_client_call(c, argv[3], argv[4],
				      argc > 5 ? argv[5] : NULL, &answer, e);

	if (status >= 0)
		printf("%d %s\n", status, answer.p);
	buf_fini(&answer);
	return status;
}

static int follow_stream(struct http_client *c, int argc, char **argv,
			 struct err *e)
{
	struct http_follow f = {.path = argv[3],
				.last_id = argc > 4 ? argv[4] : NULL,
				.on_event = print_event,
				.arg = argc > 5 ? argv[5] : NULL};
	int rc = http_client_follow(c, &f, e);

	if (rc >= 0)
		printf("%s\n", rc ? "stopped" : "ended");
	return rc;
}

int main(int argc, char **argv)
{
	struct http_target t = {.unix_path = argc > 3 ? argv[1] : ""};
	struct http_client *c = NULL;
	struct err e = {0};
	int rc;

	if (argc < 4 || http_client_open(&c, &t, &e))
		return 64;
	rc = strcmp(argv[2], "follow") == 0 ? follow_stream(c, argc, argv, &e)
					    : call(c, argc, argv, &e);
	http_client_close(c);
	if (rc < 0)
		printf("%s: %s\n", err_name(e.code), e.text);
	return rc < 0 ? err_exit_status(e.code) : 0;
}
