/* The start of a plugin: its command, sandbox, pipes and log, for the spawner. */
#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"
#include "ipc/start_message.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "lib/sandbox/homes.h"
#include "lib/sandbox/spec.h"
#include "supervisor/channel/attachments.h"
#include "supervisor/channel/plugin/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MAX (16u << 20)

/* A setting such as token_file names a file in credentials/. */
static bool names_secret(const cJSON *setting)
{
	static const char end[] = "_file";
	const char *value = cJSON_GetStringValue(setting);
	size_t n = strlen(setting->string);

	return value && value[0] && value[0] != '.' && !strchr(value, '/') &&
	       n > sizeof end - 1 &&
	       !strcmp(setting->string + n - (sizeof end - 1), end);
}

/* Whether the word names a program that the user has put into the home, which
 * is the current directory of the plugin. *path is its path. The files of skep
 * itself do not count. */
static bool is_in_home(const struct home *h, const char *word,
		       struct home_path *path)
{
	char root[PATH_MAX], real[PATH_MAX];
	size_t n;

	if ((size_t)snprintf(path->text, sizeof path->text, "%s%s%s",
			     word[0] == '/' ? "" : h->root,
			     word[0] == '/' ? "" : "/",
			     word) >= sizeof path->text ||
	    !realpath(h->root, root) || !realpath(path->text, real))
		return false;
	n = strlen(root);
	if (strncmp(real, root, n) != 0 || real[n] != '/' ||
	    (size_t)snprintf(path->text, sizeof path->text, "%s%s", h->root,
			     real + n) >= sizeof path->text)
		return false;
	for (int i = 0; i < HOME_PLACES; i++)
		if (path_is_below(path->text,
				  home_path(h, (enum home_place)i).text))
			return false;
	return true;
}

static void add_programs(struct buf *b, const struct channel *c)
{
	struct err ignored; /* it was checked when it was stored */
	cJSON *list = json_parse("command", c->command, strlen(c->command),
				 &ignored);
	struct home_path path;
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		if (is_in_home(&c->sup->home, v->valuestring, &path))
			json_add_text(b, path.text);
	}
	cJSON_Delete(list);
}

static void put_shown(struct buf *b, const struct channel *c,
		      const cJSON *settings)
{
	const cJSON *v;

	json_put_array(b, "shown");
	json_add_text(b, channel_media_dir(c).text);
	cJSON_ArrayForEach(v, settings)
	{
		if (names_secret(v))
			json_add_text(b,
				      home_join(&c->sup->home, HOME_CREDENTIALS,
						v->valuestring)
					      .text);
	}
	add_programs(b, c);
	json_end_array(b);
}

/* The file descriptor from which the shim reads it (ipc/plugin_shim.h), or
 * -1. */
static int make_start_message(const struct channel *c, const cJSON *settings,
			      struct err *e)
{
	struct buf b = BUF_MAX(START_MAX);
	int fd;

	json_begin_object(&b);
	json_put_text(&b, "home", c->sup->home.root);
	json_put_text(&b, "channel", c->name);
	json_put_raw(&b, "command", c->command);
	json_key(&b, "sandbox");
	sandbox_spec_copy(settings, &b);
	put_shown(&b, c, settings);
	json_end_object(&b);
	fd = buf_ok(&b, "the start message of a plugin", e)
		     ? -1
		     : start_text_to_fd(&b, e);
	buf_fini(&b);
	return fd;
}

/* The start message, and the cgroup with its limits. */
static int make_request(const struct plugin *p, struct spawn_request *req,
			struct err *e)
{
	const struct channel *c = p->channel;
	const struct process_roots *roots = &c->sup->roots;
	struct home_path media = channel_media_dir(c);
	cJSON *settings = json_parse_object("config", c->json, strlen(c->json),
					    e);
	struct sandbox_spec spec;
	struct arena a = {0};
	int fd = -1;

	*req = (struct spawn_request){.program = SPAWN_PLUGIN};
	memcpy(req->run, p->processes.tag, sizeof req->run);
	processes_cgroup(roots, p->processes.cgroup, req->cgroup);
	if (settings && file_make_dir(media.text, 0700, e) == 0 &&
	    sandbox_spec_read_plugin(&spec, settings, &a, e) == 0 &&
	    cgroup_accept(&roots->limits, &spec, e) == 0) {
		if (spec.mode != SANDBOX_OFF)
			(void)cgroup_plan(&roots->limits, &spec.limits,
					  p->processes.cgroup, req->limits);
		fd = make_start_message(c, settings, e);
	}
	cJSON_Delete(settings);
	arena_fini(&a);
	return fd;
}

static void close_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int plugin_start(struct plugin *p, struct err *e)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, events[2] = {-1, -1};
	int log = -1, start = -1;
	struct spawn_request req;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events))
		err_errno_set(e, "cannot create a pipe for a plugin");
	else if ((start = make_request(p, &req, e)) >= 0)
		log = plugin_log_open(p->channel->sup, p->channel->name, e);
	if (log < 0) {
		close_all((int[]){in[0], in[1], out[0], out[1], events[0],
				  events[1], start},
			  7);
		return -1;
	}
	plugin_pipe_open(p, in[1], out[0]);
	plugin_events_open(p, events[0]);
	p->processes.spawn = PLUGIN_REQUESTED;
	spawn_send(&p->channel->sup->spawn, &req,
		   (int[SHIM_FDS]){[SHIM_FD_START] = start,
				   [SHIM_FD_STDIN] = in[0],
				   [SHIM_FD_STDOUT] = out[1],
				   [SHIM_FD_STDERR] = log,
				   [SHIM_FD_EVENTS] = events[1]},
		   SHIM_FDS);
	return 0;
}
