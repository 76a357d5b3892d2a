/* A plugin's processes: command, environment, pipes and log. */
#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"
#include "ipc/spawn.h"
#include "lib/json/json.h"
#include "supervisor/channel/plugin/log.h"
#include "supervisor/process/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Is it a variable that is not passed on? */
static bool is_ours(const char *variable)
{
	static const char *const names[] = {SPAWN_MARKER "=", SHIM_MARKER "=",
					    "SKEP_HOME=",     "SKEP_CHANNEL=",
					    "NOTIFY_SOCKET=", "WATCHDOG_"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Our environment, with the mark that becomes that of every descendant. */
static char **marked_env(const struct plugin *p, struct arena *a)
{
	const struct channel *c = p->channel;
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = arena_alloc(a, (n + 4) * sizeof *env);
	for (size_t i = 0; i < n; i++)
		if (!is_ours(environ[i]))
			env[k++] = environ[i];
	env[k++] = arena_printf(a, SHIM_MARKER "=%s", p->tree.mark);
	env[k++] = arena_printf(a, "SKEP_HOME=%s", c->sup->home.root);
	env[k] = arena_printf(a, "SKEP_CHANNEL=%s", c->name);
	return env;
}

/* The shim's command: itself, what it has to know, and the plugin's. */
static char **words(const struct plugin *p, struct arena *a)
{
	const struct channel *c = p->channel;
	struct err ignored;
	cJSON *list = json_parse("command", c->command, strlen(c->command),
				 &ignored);
	size_t most = (size_t)cJSON_GetArraySize(list) + 4;
	char **argv = arena_alloc(a, most * sizeof *argv);
	char path[4096];
	const cJSON *v;
	int n = 3;

	spawn_path(SHIM_PROGRAM, path, sizeof path);
	argv[0] = arena_text(a, path);
	argv[1] = arena_printf(a, "%d", (int)getpid());
	argv[2] = arena_printf(a, "%" PRIu64, p->tree.brand);

	cJSON_ArrayForEach(v, list)
	{
		argv[n++] = arena_text(a, v->valuestring);
	}
	cJSON_Delete(list);
	return argv;
}

/* fds: its stdin, stdout and stderr, and what it tells us by. posix_spawn
 * shares our memory until the exec, so it costs the same however large we
 * are. */
static int spawn(struct plugin *p, const int fds[SHIM_FD + 1], struct err *e)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	struct arena a = {0};
	char **argv = words(p, &a);
	sigset_t none, reset;
	int rc;

	sigemptyset(&none);
	sigfillset(&reset);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i <= SHIM_FD; i++)
		posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	posix_spawn_file_actions_addclosefrom_np(&actions, SHIM_FD + 1);
	posix_spawn_file_actions_addchdir_np(&actions,
					     p->channel->sup->home.root);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &reset);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(&p->tree.shim, argv[0], &actions, &attr, argv,
			 marked_env(p, &a));
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	errno = rc;
	if (rc)
		err_errno_set(e, "cannot start %s", argv[0]);
	arena_fini(&a);
	return rc ? -1 : 0;
}

static void close_all(int *fds, int n)
{
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int plugin_start(struct plugin *p, struct err *e)
{
	/* in: 0 1; out: 2 3; told: 4 5; log: 6 */
	int fds[7] = {-1, -1, -1, -1, -1, -1, -1};
	int rc = -1;

	if (pipe2(fds, O_CLOEXEC) || pipe2(fds + 2, O_CLOEXEC) ||
	    pipe2(fds + 4, O_CLOEXEC))
		err_errno_set(e, "cannot create a pipe for a plugin");
	else if ((fds[6] = plugin_log_open(p->channel->sup, p->channel->name,
					   e)) >= 0)
		rc = spawn(p, (int[]){fds[0], fds[3], fds[6], fds[5]}, e);
	if (rc) {
		p->tree.shim = 0;
		close_all(fds, 7);
		return -1;
	}
	close_all((int[]){fds[0], fds[3], fds[5], fds[6]}, 4);
	plugin_pipe_open(p, fds[1], fds[2]);
	plugin_told_open(p, fds[4]);
	return 0;
}
