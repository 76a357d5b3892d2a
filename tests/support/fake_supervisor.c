/*
 * A supervisor for tests of the worker: listens on a socket, prints every
 * message that comes as a line of JSON, accepts and acknowledges reports, and
 * sends what it reads on stdin ("RUN {command}") to the worker of that run as
 * soon as it waits for one. "silent" makes it stop answering, "refuse"
 * refuse everybody, "reset RUN" forget a wait that went with its connection.
 */
#include "ipc/server.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 2048

static struct {
	char run[64];
	struct ipc_from waits;
	bool is_waiting;
	char *line; /* a command that waits for a worker */
} workers[WORKERS];

static bool silent, refusing;

static int worker_of(const char *run)
{
	for (int i = 0; i < WORKERS; i++) {
		if (!workers[i].run[0])
			snprintf(workers[i].run, sizeof workers[i].run, "%s",
				 run);
		if (strcmp(workers[i].run, run) == 0)
			return i;
	}
	fprintf(stderr, "too many workers\n");
	exit(1);
}

static void must(int rc, const struct err *e)
{
	if (rc < 0) {
		fprintf(stderr, "fake_supervisor: %s\n", e->text);
		exit(1);
	}
}

static void answer_worker(struct ipc_server *s, struct ipc_from to,
			  const struct msg *m)
{
	struct err e;

	must(ipc_server_answer(s, to, m, &e), &e);
}

static void send_command(struct ipc_server *s, int i)
{
	struct arena a = {0};
	struct err e;
	struct msg m;

	if (!workers[i].line || !workers[i].is_waiting)
		return;
	must(msg_decode(workers[i].line, strlen(workers[i].line),
			SIDE_SUPERVISOR, &a, &m, &e),
	     &e);
	answer_worker(s, workers[i].waits, &m);
	free(workers[i].line);
	workers[i].line = NULL;
	workers[i].is_waiting = false;
	arena_fini(&a);
}

static void take_message(struct ipc_server *s, struct ipc_from from,
			 struct msg *m)
{
	struct msg reply = {.type = MSG_TYPE_ACK, .u.ack.seq = OPT_NONE};
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	int i = worker_of(m->u.who.run);
	struct err e;

	must(msg_encode(m, &b, &e), &e);
	printf("%s\n", b.p);
	fflush(stdout);
	buf_fini(&b);
	if (m->type == MSG_TYPE_READY) {
		workers[i].waits = from;
		workers[i].is_waiting = true;
		send_command(s, i);
		return;
	}
	if (m->type == MSG_TYPE_HELLO)
		reply = (struct msg){.type = MSG_TYPE_BEGIN,
				     .u.begin.supervisor = "test"};
	if (refusing)
		reply = (struct msg){.type = MSG_TYPE_REFUSE,
				     .u.refuse.why = "not wanted"};
	if (!silent)
		answer_worker(s, from, &reply);
}

/* One line of stdin; false at its end. */
static bool obey(struct ipc_server *s)
{
	static char line[1 << 20];
	char *space;
	int i;

	if (!fgets(line, sizeof line, stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	silent = silent || strcmp(line, "silent") == 0;
	refusing = refusing || strcmp(line, "refuse") == 0;
	space = strchr(line, ' ');
	if (!space)
		return true;
	*space = '\0';
	i = worker_of(line);
	free(workers[i].line);
	workers[i].line = strdup(space + 1);
	send_command(s, i);
	return true;
}

int main(int argc, char **argv)
{
	struct ipc_server *s;
	struct arena a = {0};
	struct ipc_from from;
	struct msg m;
	struct err e;
	bool more = true;

	if (argc != 2)
		return 64;
	must(ipc_server_open(&s, argv[1], &e), &e);
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("{\"type\":\"listening\"}\n");
	fflush(stdout);
	while (more) {
		struct pollfd p[2] = {
			{.fd = ipc_server_fd(s), .events = POLLIN},
			{.fd = 0, .events = POLLIN}};
		int rc;

		poll(p, 2, 1000);
		must(ipc_server_check(s, &e), &e);
		while ((rc = ipc_server_receive(s, &a, &from, &m, &e)) != 0) {
			if (rc > 0)
				take_message(s, from, &m);
			else
				ipc_server_drop(s, from);
			arena_reset(&a);
		}
		if (p[1].revents)
			more = obey(s);
	}
	ipc_server_close(s);
	arena_fini(&a);
	return 0;
}
