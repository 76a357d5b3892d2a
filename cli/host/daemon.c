#include "cli/host/daemon.h"

#include "cli/remote.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/db/migrate.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "lib/os/program_path.h"
#include "schema/control/control.h"
#include "schema/watchdog_record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define UP_TRIES   1500 /* of POLL_MS */
#define POLL_MS    10
#define POLL_TRIES 50 /* between two reads of the log */
#define LOG_BYTES  4096
#define LOG_LINE   512

/* A supervisor that started on a full disk is not in the control plane. */
static bool reads_only(struct cli *cli, struct supervisor_row *row)
{
	struct err ignored;
	cJSON *health;
	bool is;

	if (home_is_locked(&cli->home, &ignored) != 1)
		return false;
	health = remote_call(cli, "GET", "/v1/health", NULL, &ignored);
	is = json_bool(health, "read_only", false);
	*row = (struct supervisor_row){.pid = json_i64(health, "pid", 0),
				       .boot_id = ""};
	cJSON_Delete(health);
	return is;
}

int daemon_named(struct cli *cli, struct sql *db, struct supervisor_row *row,
		 struct err *e)
{
	int alive = control_supervisor(db, row, &cli->arena, e);

	return alive == 0 ? reads_only(cli, row) : alive;
}

int daemon_in_place(struct cli *cli, struct err *e)
{
	struct err ignored;
	cJSON *health;
	const char *lost;
	int rc = 0;

	if (home_is_locked(&cli->home, &ignored) != 1)
		return 0;
	health = remote_call(cli, "GET", "/v1/health", NULL, &ignored);
	lost = json_text(health, "lost", "");
	if (*lost)
		rc = err_set(e, ERR_MOVED, "%s", lost);
	cJSON_Delete(health);
	return rc;
}

/* SQLite reports a lost log as "disk I/O error". */
static int unreadable(struct cli *cli, struct err *e)
{
	(void)daemon_in_place(cli, e);
	return -1;
}

static int daemon_lives(struct cli *cli, struct supervisor_row *row,
			struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONTROL_DB);
	struct sql *db;
	int alive;

	if (!file_exists(path.text) || file_size(path.text) == 0)
		return 0;
	if (sql_open(&db, path.text, control_schema.queries, SQL_READONLY, e))
		return unreadable(cli, e);
	alive = daemon_named(cli, db, row, e);
	sql_close(db);
	return alive < 0 ? unreadable(cli, e) : alive;
}

/* Programs of one build are in one directory. */
static const char *program(struct cli *cli, const char *name)
{
	struct program_path path = program_path(name);

	return arena_text(&cli->arena, path.text);
}

int daemon_foreground(struct cli *cli, struct err *e)
{
	const char *path = program(cli, "skepd");

	execl(path, path, "--home", cli->home.root, (char *)NULL);
	return err_errno_set(e, "cannot start %s", path);
}

/* The last line of the log that was written after `from` bytes, in text. */
static const char *last_line(const char *log, off_t from,
			     char text[LOG_BYTES + 1])
{
	int fd = open(log, O_RDONLY | O_CLOEXEC);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	ssize_t n = 0;
	char *line;

	if (fd >= 0) {
		n = pread(fd, text, LOG_BYTES,
			  size - from > LOG_BYTES ? size - LOG_BYTES : from);
		close(fd);
	}
	text[n < 0 ? 0 : n] = '\0';
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return strncmp(line, "skepd: ", 7) ? line : line + 7;
}

/* The last message of skepd: why it exited. */
static int report_failure(const char *log, off_t from, int status,
			  struct err *e)
{
	char text[LOG_BYTES + 1];
	const char *line = last_line(log, from, text);

	/* on a full disk not even that can be written */
	if (!*line && sql_place_refuses(log, e))
		return err_wrap(e, "skepd did not start");
	if (!*line)
		return err_set(e, ERR_UNAVAILABLE,
			       "skepd did not start; %s does not contain "
			       "the reason",
			       log);
	for (int c = 0; c < ERR_COUNT; c++)
		if (WIFEXITED(status) && WEXITSTATUS(status) != 0 &&
		    err_exit_status((enum err_code)c) == WEXITSTATUS(status))
			return err_set(e, (enum err_code)c, "%s", line);
	return err_set(e, ERR_UNAVAILABLE, "skepd did not start: %s", line);
}

/* In the child: creates a session and detaches from the terminal. */
static void become(const char *const argv[4], const char *log)
	__attribute__((noreturn));

static void become(const char *const argv[4], const char *log)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	setsid();
	dup2(null, 0);
	dup2(null, 1);
	dup2(fd >= 0 ? fd : null, 2);
	execl(argv[0], argv[0], argv[1], argv[2], (char *)NULL);
	dprintf(2, "skepd: cannot start %s: %s\n", argv[0], strerror(errno));
	_exit(69);
}

/* Reports that skepd updates the schema, which takes minutes in a large home.
 * Returns whether there is news since `shown`. */
static bool show_migration(const char *log, off_t from, char shown[LOG_LINE])
{
	char text[LOG_BYTES + 1], news[LOG_LINE];
	const char *line = strstr(last_line(log, from, text),
				  "msg=\"updating the schema");

	if (!line)
		return false;
	snprintf(news, sizeof news, "%s", line + strlen("msg="));
	if (strcmp(news, shown) == 0)
		return false;
	snprintf(shown, LOG_LINE, "%s", news);
	fprintf(stderr, "skep: %s\n", news);
	return true;
}

static int wait_up(struct cli *cli, pid_t pid, const char *log, off_t from,
		   struct err *e)
{
	char shown[LOG_LINE] = "";
	struct err why;
	int status;

	for (int i = 1; i <= UP_TRIES; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return report_failure(log, from, status, e);
		if (cli_call(cli, "GET", "/v1/health", NULL, NULL, &why) >= 0)
			return 0;
		if (i % POLL_TRIES == 0 && show_migration(log, from, shown))
			i = 0;
		poll(NULL, 0, POLL_MS);
	}
	return err_set(e, ERR_TIMEOUT, "skepd (process %d) does not answer: %s",
		       (int)pid, why.text);
}

int daemon_nameless(struct cli *cli, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONTROL_DB);
	int locked = home_is_locked(&cli->home, e);

	if (locked <= 0)
		return locked;
	if (daemon_in_place(cli, e))
		return -1;
	return err_set(e, ERR_CONFLICT,
		       "a supervisor is running for %s, but %s does "
		       "not name it, so the file was deleted or "
		       "replaced. Put the file back, or stop the "
		       "supervisor with 'skep down' and restore a "
		       "backup",
		       cli->home.root, path.text);
}

#define HOST_STATE(F, S) \
	F(S, text, state) F(S, text, home) F(S, opt, pid) F(S, bool, changed)
SHAPE_DECLARE(host_state, HOST_STATE);
SHAPE_DEFINE(host_state, HOST_STATE);

void daemon_print(struct cli *cli, int64_t pid, bool changed)
{
	struct host_state s = {.state = pid == OPT_NONE ? "stopped" : "running",
			       .home = cli->home.root,
			       .pid = pid,
			       .changed = changed};

	if (cli->out.json)
		output_object(&cli->out, &host_state_shape, &s);
	else if (pid == OPT_NONE && changed)
		output_note(&cli->out, "skepd has stopped");
	else if (pid == OPT_NONE)
		output_note(&cli->out, "skepd is not running, home %s",
			    cli->home.root);
	else
		output_note(&cli->out, "skepd is %s, process %lld, home %s",
			    changed ? "running" : "already running",
			    (long long)pid, cli->home.root);
}

/* A directory that existed before keeps its mode. */
static void warn_of_mode(const char *root)
{
	struct stat st;

	if (stat(root, &st) == 0 && st.st_mode & 077)
		fprintf(stderr,
			"skep: warning: other users of this machine can access "
			"%s (mode %04o); 'chmod 700 %s' makes it private\n",
			root, (unsigned)(st.st_mode & 07777), root);
}

int daemon_up(struct cli *cli, struct err *e)
{
	struct home_path log = home_join(&cli->home, HOME_LOGS, "skepd.log");
	const char *argv[] = {program(cli, "skep-watchdog"), cli->home.root,
			      program(cli, "skepd"), NULL};
	struct supervisor_row row;
	int alive = daemon_lives(cli, &row, e);
	off_t from;
	pid_t pid;

	if (alive < 0)
		return -1;
	if (alive && !daemon_await_stop(cli)) {
		daemon_print(cli, row.pid, false);
		return 0;
	}
	if (home_make(&cli->home, e) || home_is_writable(&cli->home, e) ||
	    daemon_nameless(cli, e))
		return -1;
	warn_of_mode(cli->home.root);
	(void)daemon_end_watchdog(cli); /* the new one starts skepd now */
	from = file_size(log.text);
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return err_errno_set(e, "cannot start %s", argv[0]);
	if (pid == 0)
		become(argv, log.text);
	if (wait_up(cli, pid, log.text, from < 0 ? 0 : from, e) ||
	    daemon_lives(cli, &row, e) < 0)
		return -1;
	daemon_print(cli, row.pid, true);
	return 0;
}

int daemon_absent(struct cli *cli, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONTROL_DB);
	struct watchdog_record r;
	char when[CLOCK_TEXT];

	if (!file_exists(path.text) && file_exists(cli->home.root) &&
	    daemon_nameless(cli, e))
		return -1;
	if (file_exists(path.text) && sql_place_refuses(path.text, e))
		return err_wrap(e, "no supervisor is running for %s",
				cli->home.root);
	if (!watchdog_read(&cli->home, &r) || r.ended_at == 0)
		return err_set(e, ERR_UNAVAILABLE,
			       "no supervisor is running for %s; 'skep up' "
			       "starts one",
			       cli->home.root);
	clock_text(r.ended_at, when);
	if (!r.alive)
		return err_set(
			e, ERR_UNAVAILABLE,
			"no supervisor is running for %s: skepd ended at %s "
			"(%s) and was not restarted; 'skep up' starts one",
			cli->home.root, when, r.cause);
	return err_set(e, ERR_UNAVAILABLE,
		       "skepd ended at %s (%s); the watchdog (process %lld) "
		       "restarts it in %lld s, restart %lld; its log is %s",
		       when, r.cause, (long long)r.watchdog.pid,
		       (long long)(r.next_at > clock_now()
					   ? (r.next_at - clock_now()) / 1000
					   : 0),
		       (long long)r.restarts + 1,
		       home_join(&cli->home, HOME_LOGS, "skepd.log").text);
}

/* --- before a restart ---------------------------------------------------- */

/* HOST:PORT that the running supervisor uses: free for its successor. */
static const char *listen_now(struct cli *cli)
{
	struct err ignored;
	cJSON *health = remote_call(cli, "GET", "/v1/health", NULL, &ignored);
	const char *text = arena_text(&cli->arena,
				      json_text(health, "listen", ""));

	cJSON_Delete(health);
	return text;
}

static void become_check(const char *path, const char *home, const char *now,
			 int out) __attribute__((noreturn));

static void become_check(const char *path, const char *home, const char *now,
			 int out)
{
	dup2(out, 2);
	execl(path, path, "--home", home, "--check", now, (char *)NULL);
	dprintf(2, "skepd: cannot start %s: %s\n", path, strerror(errno));
	_exit(69);
}

static void keep_old(const char *why, struct err *e)
{
	if (strncmp(why, "skepd: ", 7) == 0)
		why += 7;
	err_set(e, ERR_CONFIG,
		"the new supervisor would not start: %.*s; the old one keeps "
		"running",
		(int)strcspn(why, "\n"), why);
}

int daemon_check(struct cli *cli, struct err *e)
{
	const char *path = program(cli, "skepd"), *now = listen_now(cli);
	struct buf output = BUF_MAX(LOG_BYTES);
	int ends[2], status = 0;
	pid_t pid;

	if (daemon_in_place(cli, e))
		return -1;
	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "pipe");
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_check(path, cli->home.root, now, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		(void)file_read_fd(ends[0], path, &output, e);
		(void)waitpid(pid, &status, 0);
	}
	close(ends[0]);
	if (pid < 0)
		err_errno_set(e, "cannot start %s", path);
	else if (status)
		keep_old(output.p, e);
	buf_fini(&output);
	return pid < 0 || status ? -1 : 0;
}
