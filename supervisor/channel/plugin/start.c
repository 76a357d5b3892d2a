/* The start of a plugin: its command, pipes and log, for the spawner. */
#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"
#include "ipc/start_message.h"
#include "lib/json/json.h"
#include "supervisor/channel/plugin/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MAX (16u << 20)

static void add_word(struct buf *b, const char *word)
{
	buf_add(b, word, strlen(word) + 1);
}

/* As ipc/plugin_shim.h has it: a descriptor to read it from; -1. */
static int make_start_message(const struct channel *c, struct err *e)
{
	struct buf b = BUF_MAX(START_MAX);
	struct err ignored;
	cJSON *list = json_parse("command", c->command, strlen(c->command),
				 &ignored);
	const cJSON *v;
	int fd;

	add_word(&b, c->sup->home.root);
	add_word(&b, c->name);
	cJSON_ArrayForEach(v, list)
	{
		add_word(&b, v->valuestring);
	}
	cJSON_Delete(list);
	fd = start_text_to_fd(&b, e);
	buf_fini(&b);
	return fd;
}

static void close_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void request_shim(struct plugin *p, const int fds[SHIM_FDS])
{
	struct supervisor *s = p->channel->sup;
	struct spawn_send ask = {.program = SPAWN_PLUGIN};

	memcpy(ask.run, p->processes.tag, sizeof ask.run);
	tree_cgroup(&s->place, p->processes.cgroup, ask.cgroup);
	p->processes.spawn = PLUGIN_REQUESTED;
	spawn_send(&s->spawn, &ask, fds, SHIM_FDS);
}

int plugin_start(struct plugin *p, struct err *e)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, events[2] = {-1, -1};
	int log = -1, start = -1;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events))
		err_errno_set(e, "cannot create a pipe for a plugin");
	else if ((start = make_start_message(p->channel, e)) >= 0)
		log = plugin_log_open(p->channel->sup, p->channel->name, e);
	if (log < 0) {
		close_all((int[]){in[0], in[1], out[0], out[1], events[0],
				  events[1], start},
			  7);
		return -1;
	}
	plugin_pipe_open(p, in[1], out[0]);
	plugin_events_open(p, events[0]);
	request_shim(p, (int[SHIM_FDS]){[SHIM_FD_START] = start,
					[SHIM_FD_STDIN] = in[0],
					[SHIM_FD_STDOUT] = out[1],
					[SHIM_FD_STDERR] = log,
					[SHIM_FD_EVENTS] = events[1]});
	return 0;
}
