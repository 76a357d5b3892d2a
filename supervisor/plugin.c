#include "supervisor/plugin.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/proc.h"
#include "spawner/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS        10000 /* to register, and to take its configuration */
#define PLUGIN_GRACE_MS 2000  /* from SIGTERM to SIGKILL */
#define BACKOFF_MS      500
#define BACKOFF_MAX     60000
#define WELL_MS         60000 /* so long ready: failures are forgotten */
#define TICK_LINES      2000
#define READ_BYTES      65536
#define OUTBOX_MAX      (64u << 20)
#define OUTBOX_ROOM     (1u << 20) /* it does not read: nothing more is claimed */
#define LOG_MAX         (8 << 20)
#define WORDS_MAX       256

static int64_t now_ms(const struct plugin *p)
{
	return (int64_t)uv_now(&p->channel->sup->loop);
}

static struct tree tree_of(const struct plugin *p)
{
	return (struct tree){.run = p->channel->id,
			     .worker = p->pid,
			     .start_ticks = p->start_ticks};
}

static const struct tree_place nowhere; /* no spawner is among them */

/* --- pipes ------------------------------------------------------------ */

static void free_poll(uv_handle_t *h)
{
	free(h);
}

static void close_end(uv_poll_t **poll, int *fd)
{
	if (*poll) {
		uv_poll_stop(*poll);
		uv_close((uv_handle_t *)*poll, free_poll);
		*poll = NULL;
	}
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void on_writable(uv_poll_t *h, int status, int events)
{
	(void)status;
	(void)events;
	plugin_flush(h->data);
}

void plugin_flush(struct plugin *p)
{
	while (p->in >= 0 && p->outbox.n) {
		ssize_t n = write(p->in, p->outbox.p, p->outbox.n);

		if (n > 0)
			buf_drop(&p->outbox, (size_t)n);
		else if (errno != EINTR)
			break;
	}
	if (!p->in_poll)
		return;
	if (p->outbox.n)
		uv_poll_start(p->in_poll, UV_WRITABLE, on_writable);
	else
		uv_poll_stop(p->in_poll);
}

/* Whole lines only; false when the plugin ended over one of them. */
static bool take_lines(struct plugin *p)
{
	int64_t serial = p->serial;
	size_t from = 0;
	char *end;

	while ((end = memchr(p->inbox.p + from, '\n', p->inbox.n - from))) {
		size_t n = (size_t)(end - p->inbox.p) - from;

		p->heard_ms = now_ms(p);
		p->pinged = false;
		p->lines++;
		plugin_line(p, p->inbox.p + from, n);
		if (p->out < 0 || p->serial != serial)
			return false;
		from += n + 1;
	}
	buf_drop(&p->inbox, from);
	return true;
}

static void on_readable(uv_poll_t *h, int status, int events)
{
	struct plugin *p = h->data;
	char *room = buf_room(&p->inbox, READ_BYTES);
	ssize_t n;

	(void)status;
	(void)events;
	if (!room) {
		plugin_fail(p, "a line is longer than %u bytes",
			    PLUGIN_LINE_MAX);
		return;
	}
	n = read(p->out, room, READ_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		plugin_fail(p, "it closed its output");
		return;
	}
	buf_grew(&p->inbox, (size_t)n);
	if (take_lines(p) && p->lines > TICK_LINES) {
		p->quiet = true;
		uv_poll_stop(p->out_poll);
	}
}

static uv_poll_t *poll_new(struct plugin *p, int fd)
{
	uv_poll_t *poll = calloc(1, sizeof *poll);

	if (!poll)
		abort();
	uv_poll_init(&p->channel->sup->loop, poll, fd);
	poll->data = p;
	return poll;
}

/* --- the process ------------------------------------------------------ */

static int open_log(const struct plugin *p, struct err *e)
{
	struct channel *c = p->channel;
	struct home_path path = home_join(
		&c->sup->home, HOME_LOGS,
		arena_printf(&c->arena, "channel-%s.log", c->name));
	int fd = open(path.text, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
		      0600);

	return fd < 0 ? err_errno_set(e, "%s", path.text) : fd;
}

/* A log has its limit also while the plugin holds it open. */
static void limit_log(const struct plugin *p)
{
	struct err e;
	struct stat st;
	int fd = open_log(p, &e);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > LOG_MAX)
		(void)!ftruncate(fd, 0);
	close(fd);
}

/* Our environment, with the mark that every descendant inherits. */
static char **marked_env(const struct plugin *p, struct arena *a)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = arena_alloc(a, (n + 3) * sizeof *env);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], SPAWN_MARKER "=",
			    sizeof SPAWN_MARKER) != 0)
			env[k++] = environ[i];
	env[k++] = arena_printf(a, SPAWN_MARKER "=%s", p->channel->id);
	env[k] = arena_printf(a, "SKEP_CHANNEL=%s", p->channel->name);
	return env;
}

static char **words(const char *json, struct arena *a)
{
	struct err ignored;
	cJSON *list = json_parse("command", json, strlen(json), &ignored);
	char **argv = arena_alloc(a, (WORDS_MAX + 1) * sizeof *argv);
	const cJSON *v;
	int n = 0;

	cJSON_ArrayForEach(v, list)
	{
		if (n < WORDS_MAX)
			argv[n++] = arena_text(a, v->valuestring);
	}
	cJSON_Delete(list);
	return argv;
}

/* fds: its stdin, stdout and stderr. posix_spawn shares our memory until the
 * exec, so it costs the same however large we are. */
static int spawn(struct plugin *p, const int fds[3], struct err *e)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	struct arena a = {0};
	char **argv = words(p->channel->command, &a);
	sigset_t none, reset;
	int rc;

	sigemptyset(&none);
	sigfillset(&reset);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	posix_spawn_file_actions_addchdir_np(&actions,
					     p->channel->sup->home.root);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &reset);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawnp(&p->pid, argv[0], &actions, &attr, argv,
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

static int start_process(struct plugin *p, struct err *e)
{
	int fds[5] = {-1, -1, -1, -1, -1}; /* in: 0 1; out: 2 3; log: 4 */
	struct proc_stat st = {0};
	int rc = -1;

	if (pipe2(fds, O_CLOEXEC) || pipe2(fds + 2, O_CLOEXEC))
		err_errno_set(e, "no pipe for a plugin");
	else if ((fds[4] = open_log(p, e)) >= 0)
		rc = spawn(p, (int[]){fds[0], fds[3], fds[4]}, e);
	if (rc) {
		p->pid = 0;
		close_all(fds, 5);
		return -1;
	}
	close_all((int[]){fds[0], fds[3], fds[4]}, 3);
	p->in = fds[1];
	p->out = fds[2];
	fcntl(p->in, F_SETFL, O_NONBLOCK);
	fcntl(p->out, F_SETFL, O_NONBLOCK);
	proc_stat(p->pid, &st);
	p->start_ticks = st.start_ticks;
	p->in_poll = poll_new(p, p->in);
	p->out_poll = poll_new(p, p->out);
	uv_poll_start(p->out_poll, UV_READABLE, on_readable);
	return 0;
}

static void start(struct plugin *p)
{
	struct err e;

	p->serial++;
	p->bad_lines = p->lines = 0;
	p->quiet = p->pinged = false;
	p->heard_ms = now_ms(p);
	buf_clear(&p->inbox);
	buf_clear(&p->outbox);
	if (start_process(p, &e)) {
		plugin_fail(p, "%s", e.text);
		return;
	}
	p->state = PLUGIN_STARTED;
	p->at_ms = now_ms(p) + START_MS;
	log_info(LT("msg", "plugin started"), LT("channel", p->channel->name),
		 LI("pid", p->pid));
}

/* --- ending ----------------------------------------------------------- */

static void give_back(struct plugin *p, const char *why)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1, "%s",
				      why);

	while (p->waiting) {
		struct parcel *parcel = p->waiting;

		p->waiting = parcel->next;
		parcel_done(parcel, &o);
	}
}

static bool reaped(struct plugin *p)
{
	if (p->pid && waitpid(p->pid, NULL, WNOHANG) != 0)
		p->pid = 0;
	return p->pid == 0;
}

static void begin_end(struct plugin *p)
{
	struct tree t = tree_of(p);

	close_end(&p->in_poll, &p->in);
	close_end(&p->out_poll, &p->out);
	tree_signal_all(&nowhere, &t, SIGTERM);
	p->state = PLUGIN_ENDING;
	p->at_ms = now_ms(p) + PLUGIN_GRACE_MS;
}

void plugin_fail(struct plugin *p, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	if (p->state == PLUGIN_READY && now_ms(p) - p->ready_ms > WELL_MS)
		p->failures = 0;
	p->failures++;
	give_back(p, why);
	begin_end(p);
	channel_trouble(p->channel, why);
}

/* Proof before the next start; who does not go is killed. */
static void look_at_end(struct plugin *p)
{
	struct tree t = tree_of(p);

	if (reaped(p) && tree_count(&nowhere, &t, NULL) == 0) {
		p->state = PLUGIN_WAITING;
		p->at_ms = now_ms(p);
		if (p->failures)
			p->at_ms += delivery_backoff(p->failures, BACKOFF_MS,
						     BACKOFF_MAX,
						     (uint32_t)p->at_ms);
	} else if (now_ms(p) >= p->at_ms) {
		tree_signal_all(&nowhere, &t, SIGKILL);
	}
}

static void look_at_life(struct plugin *p)
{
	int64_t now = now_ms(p), limit = p->channel->config.timeout;
	int status = 0;

	if (p->pid && waitpid(p->pid, &status, WNOHANG) == p->pid) {
		p->pid = 0;
		plugin_fail(p,
			    WIFSIGNALED(status) ? "it died by signal %d"
						: "it ended with status %d",
			    WIFSIGNALED(status) ? WTERMSIG(status)
						: WEXITSTATUS(status));
	} else if (p->state != PLUGIN_READY && now >= p->at_ms) {
		plugin_fail(p, "it did not register in time");
	} else if (p->pinged && now - p->heard_ms > 2 * limit) {
		plugin_fail(p, "it does not answer");
	} else if (!p->pinged && now - p->heard_ms > limit &&
		   p->state == PLUGIN_READY) {
		p->pinged = true;
		plugin_ping(p);
	}
}

static void late_parcels(struct plugin *p)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
				      "the plugin did not answer in time");
	struct parcel **at = &p->waiting;

	while (*at) {
		struct parcel *parcel = *at;

		if (parcel->late_ms > now_ms(p)) {
			at = &parcel->next;
			continue;
		}
		*at = parcel->next;
		parcel_done(parcel, &o);
	}
}

/* --- as a channel ----------------------------------------------------- */

static void tick(struct channel *c)
{
	struct plugin *p = c->own;

	p->lines = 0;
	if (p->quiet && p->out_poll) {
		p->quiet = false;
		uv_poll_start(p->out_poll, UV_READABLE, on_readable);
	}
	late_parcels(p);
	if (p->state == PLUGIN_ENDING)
		look_at_end(p);
	if (p->state == PLUGIN_WAITING) {
		if (now_ms(p) >= p->at_ms)
			start(p);
	} else if (p->state != PLUGIN_ENDING) {
		look_at_life(p);
	}
	if (c->sup->ticks % 20 == 0)
		limit_log(p);
}

static int open_plugin(struct channel *c, struct err *e)
{
	struct plugin *p = calloc(1, sizeof *p);

	(void)e;
	if (!p)
		abort();
	p->channel = c;
	p->in = p->out = -1;
	buf_init(&p->inbox, PLUGIN_LINE_MAX);
	buf_init(&p->outbox, OUTBOX_MAX);
	p->state = PLUGIN_ENDING; /* whoever is left of a former one */
	p->at_ms = now_ms(p) + PLUGIN_GRACE_MS;
	c->own = p;
	begin_end(p);
	look_at_end(p);
	if (p->state == PLUGIN_WAITING)
		start(p);
	return 0;
}

static void close_plugin(struct channel *c)
{
	struct plugin *p = c->own;
	struct tree t;

	plugin_stop_word(p);
	plugin_flush(p);
	give_back(p, "the channel was closed");
	begin_end(p);
	t = tree_of(p);
	plugin_leave(c->sup, &t);
	buf_fini(&p->inbox);
	buf_fini(&p->outbox);
	free(p);
}

static bool ready(const struct channel *c)
{
	const struct plugin *p = c->own;

	return p->state == PLUGIN_READY && p->outbox.n < OUTBOX_ROOM;
}

const struct channel_ops channel_plugin = {
	.kind = "plugin",
	.open = open_plugin,
	.close = close_plugin,
	.ready = ready,
	.send = plugin_send,
	.ask = plugin_ask,
	.tick = tick,
};
