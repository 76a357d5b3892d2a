#include "supervisor/daemon.h"

#include "ipc/end_reason.h"
#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/os/proc.h"
#include "lib/os/process.h"
#include "lib/os/sd_notify.h"
#include "schema/control/control.h"
#include "supervisor/api/api.h"
#include "supervisor/api/mailbox_wait.h"
#include "supervisor/channel/delete.h"
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/plugin/plugin.h"
#include "supervisor/channel/retention.h"
#include "supervisor/core/agent_upgrade.h"
#include "supervisor/core/clock_change.h"
#include "supervisor/core/full_disk.h"
#include "supervisor/core/log_rotate.h"
#include "supervisor/core/memory_trim.h"
#include "supervisor/experiment/experiment.h"
#include "supervisor/run/run.h"
#include "supervisor/schedule/schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TICK_MS    250 /* a lost socket is found after a few ticks */
#define TRIM_TICKS 240
#define TRIM_MAX   2000 /* rows of the host log deleted at a time */
#define GC_MAX     500  /* expired values deleted at a time */
/* counts of past periods of budgets: a year and a month */
#define BUDGET_KEEP_MS (INT64_C(400) * 24 * 3600 * 1000)
#define SHRINK_TICKS   12
#define ROTATE_TICKS   40 /* ten seconds */
#define LOCK_TRIES     20
#define LOCK_MS        50

/* A worker needs a connection and a pidfd and, while it starts, a start
 * message. */
static void raise_limits(const struct config *c)
{
	rlim_t want = (rlim_t)(c->run_max * 3 + c->http_connections + 1024);
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < want) {
		r.rlim_cur = want < r.rlim_max ? want : r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* --- events of the loop --------------------------------------------------- */

/* Memory may be ahead of the rows. */
static void on_txn_failed(void *arg, const struct err *failed)
{
	struct supervisor *s = arg;

	if (failed && failed->code == ERR_MOVED && !control_file_in_place(s))
		return;
	inflight_reload(s);
	runs_reload(s);
}

static void before_commit(void *arg)
{
	struct supervisor *s = arg;

	if (s->txn.refused)
		return;
	inflight_before_commit(s);
	experiments_before_commit(s);
	schedules_before_commit(s);
	runs_before_commit(s);
	notify_host_watchers(s);
}

/* Deletes a bounded number of rows; the next tick continues. */
static void trim_host_log(struct supervisor *s)
{
	struct host_event_trim_in in = {s->config.run_host_events, TRIM_MAX};
	struct kv_gc_in expired = {clock_now(), GC_MAX};
	struct budget_prune_in old = {expired.now - BUDGET_KEEP_MS, GC_MAX};
	struct err e;
	int n = -1;

	if (txn_begin(&s->txn, &e) == 0)
		n = sql_exec(s->db, Q_HOST_EVENT_TRIM, &in, &e);
	s->trimming = n == TRIM_MAX;
	if (n < 0 || sql_exec(s->db, Q_KV_GC, &expired, &e) < 0 ||
	    sql_exec(s->db, Q_BUDGET_PRUNE, &old, &e) < 0)
		log_warn(LT("msg", "cannot trim the host's log"),
			 LT("error", e.text));
}

static void restart_if_space(struct supervisor *s)
{
	if (s->stopping || !disk_has_space(&s->home))
		return;
	log_info(LT("msg", "the disk has free space again, restarting"));
	s->restart_for_space = true;
	uv_stop(&s->loop);
}

static void on_tick(uv_timer_t *h)
{
	struct supervisor *s = h->data;

	notify("WATCHDOG=1");
	if (s->read_only) {
		restart_if_space(s);
		return;
	}
	if (!control_file_in_place(s))
		return;
	agent_threads_tick(s->agent_threads);
	clock_change_check(s);
	runs_tick(s);
	memory_cache(&s->cache, s->db, channels_outcomes(s));
	if (s->ticks % SHRINK_TICKS == 0) {
		memory_trim();
		disk_reserve(&s->home);
	}
	channels_tick(s);
	experiments_tick(s);
	schedules_tick(s);
	if (s->api)
		mailbox_wait_tick(s->api);
	if (++s->ticks % TRIM_TICKS == 0 || s->trimming)
		trim_host_log(s);
	if (s->ticks % ROTATE_TICKS == 0)
		log_rotate(&s->home, &s->config);
	if (!s->stopping)
		jobs_tick(&s->jobs);
}

/* Runs after the commit, so that the client gets its answer. */
static void end_loop(void *arg, const struct err *failed)
{
	struct supervisor *s = arg;

	if (failed)
		return;
	s->ended = true;
	channels_drain(s);
}

void end_if_done(struct supervisor *s)
{
	if (s->stopping && runs_are_over(s) && !s->ended)
		txn_on_commit(&s->txn, end_loop, s);
}

static int stop_supervisor(struct supervisor *s, const char *intent,
			   const char *by, struct completion done,
			   struct err *e)
{
	struct shutdown_intent_put_in row = {
		.intent = intent,
		.by = by,
		.at = clock_now(),
		.active = runs_count(s),
	};

	if (strcmp(intent, "restart") != 0 && strcmp(intent, "down") != 0 &&
	    strcmp(intent, "down-now") != 0)
		return err_set(e, ERR_USAGE,
			       "the intent must be restart, down, down-now or "
			       "stay");
	if (!s->read_only)
		(void)control_file_in_place(s);
	if (s->txn.refused) { /* nothing can be recorded */
		s->stopping = true;
		complete_later(s, done, intent, true, intent);
		txn_on_commit(&s->txn, end_loop, s);
		return 0;
	}
	if (txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_SHUTDOWN_INTENT_PUT, &row, e) < 0)
		return -1;
	if (control_audit(s->db, by, "host.stop", intent, NULL, e))
		return -1;
	log_info(LT("msg", "stop requested"), LT("intent", intent),
		 LT("by", by), LI("active", runs_count(s)));
	notify("STOPPING=1");
	s->stopping = true;
	complete_later(s, done, intent, true, intent);
	runs_save_last_seq(s);
	if (!strcmp(intent, "restart"))
		txn_on_commit(&s->txn, end_loop, s);
	else
		idle_evict_all(s, NULL);
	if (!strcmp(intent, "down-now"))
		runs_stop_all(s, by);
	end_if_done(s);
	return 0;
}

/* Takes back a "down" that still waits for runs. */
static int withdraw_stop(struct supervisor *s, const char *by,
			 struct completion done, struct err *e)
{
	struct shutdown_intent_get_row row = {.intent = NULL};
	struct arena a = {0};
	int found = sql_get(s->db, Q_SHUTDOWN_INTENT_GET, NULL, &row, &a, e);
	bool waits = found > 0 && !strcmp(row.intent, "down") && s->stopping &&
		     !s->ended;

	arena_fini(&a);
	if (found < 0)
		return -1;
	if (!waits)
		return err_set(e, ERR_CONFLICT,
			       "skepd is not waiting for runs to finish; the "
			       "stop cannot be taken back");
	if (txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_SHUTDOWN_INTENT_CLEAR, NULL, e) < 0 ||
	    control_audit(s->db, by, "host.stop", "stay", NULL, e))
		return -1;
	log_info(LT("msg", "stop taken back"), LT("by", by));
	notify("READY=1");
	s->stopping = false;
	complete_later(s, done, "stay", true, "stay");
	runs_continue(s);
	return 0;
}

int supervisor_stop(struct supervisor *s, const char *intent, const char *by,
		    struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	if (!strcmp(intent, "stay"))
		return txn_try_end(&s->txn, withdraw_stop(s, by, done, e), e);
	return txn_try_end(&s->txn, stop_supervisor(s, intent, by, done, e), e);
}

static void on_signal(uv_signal_t *h, int signum)
{
	struct supervisor *s = h->data;
	struct completion nobody = {0};
	struct err e;

	/* The second signal does not wait for runs. */
	if (s->stopping || signum == SIGTERM) {
		if (supervisor_stop(s, "restart", "signal", nobody, &e) == 0)
			return;
	} else if (supervisor_stop(s, "down", "signal", nobody, &e) == 0) {
		return;
	}
	log_error(LT("msg", "cannot record the stop, ending at once"),
		  LT("error", e.text));
	uv_stop(&s->loop);
}

static void start_timer(struct supervisor *s, uv_timer_t *t)
{
	uv_timer_init(&s->loop, t);
	t->data = s;
}

static void start_handles(struct supervisor *s)
{
	static const int numbers[] = {SIGTERM, SIGINT};

	start_timer(s, &s->tick);
	uv_timer_start(&s->tick, on_tick, TICK_MS, TICK_MS);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		uv_signal_init(&s->loop, &s->signals[i]);
		s->signals[i].data = s;
		uv_signal_start(&s->signals[i], on_signal, numbers[i]);
	}
}

/* --- start ------------------------------------------------------------ */

static int open_log(const struct skepd_options *o, const struct config *c,
		    struct err *e)
{
	int fd = -1;

	if (o->log) {
		fd = open(o->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			  0600);
		if (fd < 0)
			return err_errno_set(e, "%s", o->log);
	}
	log_setup("skepd", (enum log_level)log_level_from(c->log_level), fd);
	return 0;
}

static int seed_reasons(struct supervisor *s, struct err *e)
{
	if (run_reasons_seed(s->db, e))
		return -1;
	for (int r = 0; r < REASONS; r++)
		if (run_reason_seed(s->db, reason_code((enum reason)r),
				    reason_description((enum reason)r), e))
			return -1;
	return 0;
}

/* Logs and clears the intent of the former skepd. */
static int read_shutdown_intent(struct supervisor *s, struct err *e)
{
	struct shutdown_intent_get_row row;
	struct arena a = {0};
	int found = sql_get(s->db, Q_SHUTDOWN_INTENT_GET, NULL, &row, &a, e);

	if (found == 1) {
		log_info(LT("msg", "the former skepd was stopped as planned"),
			 LT("intent", row.intent), LT("by", row.by),
			 LI("active", row.active));
		found = sql_exec(s->db, Q_SHUTDOWN_INTENT_CLEAR, NULL, e);
	}
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

static int open_database(struct supervisor *s, struct err *e)
{
	if (s->read_only)
		return control_open(&s->db, &s->home, SQL_READONLY, e);
	if (control_open(&s->db, &s->home, SQL_CREATE, e))
		return -1;
	memory_cache(&s->cache, s->db, 0);
	if (control_lock(s->db, SKEP_VERSION, &s->epoch, e) ||
	    fault_point(FAULT_lease_claimed, e) || clock_change_open(s, e) ||
	    sql_enter(s->db, e))
		return -1;
	return sql_leave(s->db,
			 seed_reasons(s, e) || read_shutdown_intent(s, e) ||
					 channels_seed(s->db, e)
				 ? -1
				 : 0,
			 e);
}

/* Starts only what answers reads. */
static int start_reading(struct supervisor *s, struct err *e)
{
	struct err why;

	s->spawn.fd = -1;
	disk_full_error(&s->home, &why);
	txn_refuse(&s->txn, &why);
	if (channels_open(s, e) || retention_open(s, e) ||
	    channel_delete_open(s, e) || experiments_open(s, e) ||
	    schedules_open(s, e) || api_open(&s->api, s, &s->loop, e))
		return -1;
	return 0;
}

/* The report is about a plugin or about a worker. */
static void on_spawner_report(void *arg, const struct spawn_event *t, int pidfd)
{
	if (!plugin_on_spawn_event(arg, t, pidfd))
		on_spawn_event(arg, t, pidfd);
}

static void on_spawner_end(void *arg)
{
	on_spawner_lost(arg);
	plugin_on_spawner_lost(arg);
}

static int start_services(struct supervisor *s, struct err *e)
{
	struct spawn_calls spawner = {s, on_spawner_report, on_spawner_end};
	struct txn_calls step = {s, before_commit, on_txn_failed};

	uv_loop_init(&s->loop);
	start_handles(s);
	txn_init(&s->txn, &s->loop, s->db, step);
	s->agent_threads = agent_threads_new(&s->loop);
	process_roots_find(&s->roots, s->config.run_cgroup, s->home.root);
	jobs_init(&s->jobs, &s->home, &s->config, s->db);
	runs_init(s);
	if (s->read_only)
		return start_reading(s, e);
	/* Fork before any thread exists. */
	if (spawn_open(&s->spawn, &s->loop, spawner, e))
		return -1;
	s->roots.spawner = s->spawn.pid;
	if (runs_recover(s, e) || channels_open(s, e) || retention_open(s, e) ||
	    channel_delete_open(s, e) || experiments_open(s, e) ||
	    schedules_open(s, e) || runs_listen(s, e) ||
	    api_open(&s->api, s, &s->loop, e))
		return -1;
	return 0;
}

/* --- end -------------------------------------------------------------- */

static void close_handles(struct supervisor *s)
{
	uv_close((uv_handle_t *)&s->tick, NULL);
	runs_close_timers(s);
	for (size_t i = 0; i < sizeof s->signals / sizeof s->signals[0]; i++)
		uv_close((uv_handle_t *)&s->signals[i], NULL);
}

static void stop(struct supervisor *s)
{
	struct err e;

	s->stopping = true; /* no further run is started */
	channels_stop(s);
	if (s->api)
		api_stop(s->api);
	jobs_close(&s->jobs);
	retention_close(s);
	channel_delete_close(s);
	schedules_close(s);
	runs_close(s);
	txn_close(&s->txn);
	agent_threads_close(s->agent_threads);
	close_handles(s);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	agent_threads_free(s->agent_threads);
	agent_upgrades_free(s);
	api_close(s->api);
	channels_free(s);
	experiments_free(s);
	schedules_free(s);
	runs_free(s);
	uv_loop_close(&s->loop);
	if (!s->read_only && control_unlock(s->db, &e))
		log_warn(LT("msg",
			    "cannot release the lock of the control plane"),
			 LT("error", e.text));
}

/* Reads the record of the watchdog about former restarts. */
static void read_watchdog(struct supervisor *s)
{
	struct watchdog_record r;

	if (!watchdog_read(&s->home, &r) || !r.alive ||
	    r.watchdog.pid != getppid())
		return;
	s->watchdog = r;
	if (r.restarts > 0)
		log_warn(LT("msg", "restarted by the watchdog"),
			 LI("restarts", r.restarts), LT("cause", r.cause));
}

static void run_loop(struct supervisor *s)
{
	s->started_at = clock_now();
	log_info(LT("msg", "ready"), LT("home", s->home.root),
		 LI("epoch", s->epoch), LI("adopted", runs_count(s)));
	notify("READY=1");
	uv_run(&s->loop, UV_RUN_DEFAULT);
	log_info(LT("msg", "ending"), LI("active", runs_count(s)));
}

/* -1 with ERR_BUSY and the pid, if the control plane names a living
 * supervisor. */
static int name_owner(const struct home *home, struct err *e)
{
	struct supervisor_row row;
	struct arena a = {0};
	struct err ignored;
	struct sql *db;
	int alive;

	if (control_open(&db, home, SQL_READONLY, &ignored))
		return 0;
	alive = control_supervisor(db, &row, &a, &ignored);
	sql_close(db);
	if (alive > 0)
		err_set(e, ERR_BUSY,
			"a supervisor (skepd, pid %lld) is already "
			"running for this home",
			(long long)row.pid);
	arena_fini(&a);
	return alive > 0 ? -1 : 0;
}

/* A supervisor that is about to exit holds the lock a moment longer than its
 * row. */
static int lock_home(const struct home *home, struct err *e)
{
	int fd = home_make(home, e) ? -1 : home_lock(home, e);

	for (int i = 0; fd < 0 && e->code == ERR_BUSY && i < LOCK_TRIES; i++) {
		if (name_owner(home, e))
			return -1;
		poll(NULL, 0, LOCK_MS);
		fd = home_lock(home, e);
	}
	return fd;
}

static int prepare_home(struct supervisor *s, const struct skepd_options *o,
			struct err *e)
{
	struct home_path path;

	snprintf(s->boot_id, sizeof s->boot_id, "%s", process_self().boot_id);
	if (home_find(&s->home, o->home, e))
		return -1;
	path = home_path(&s->home, HOME_CONFIG);
	if (config_load(&s->config, path.text, e) || open_log(o, &s->config, e))
		return -1;
	read_watchdog(s);
	raise_limits(&s->config);
	proc_oom_score(PROC_OOM_SUPERVISOR);
	s->home_lock = lock_home(&s->home, e);
	return s->home_lock < 0 ? -1 : 0;
}

static int serve_until_stop(struct supervisor *s, struct err *e)
{
	int rc = open_database(s, e);

	if (rc == 0) {
		rc = start_services(s, e);
		if (rc == 0)
			run_loop(s);
		stop(s);
	}
	sql_close(s->db);
	s->db = NULL;
	return rc;
}

/* Resets the object after a failed start, except for what prepare_home set. */
static void reset_supervisor(struct supervisor *s)
{
	struct supervisor was = *s;

	*s = (struct supervisor){.home = was.home,
				 .home_lock = was.home_lock,
				 .config = was.config,
				 .watchdog = was.watchdog};
	memcpy(s->boot_id, was.boot_id, sizeof s->boot_id);
}

/* Starts; on a full disk, deletes the reserve and starts again, then starts
 * read-only. */
static int serve_with_fallback(struct supervisor *s, struct err *e)
{
	int rc = serve_until_stop(s, e);

	if (rc && e->code == ERR_FULL && disk_release(&s->home)) {
		log_error(LT("msg", "the disk is full, changes will fail"),
			  LT("error", e->text));
		reset_supervisor(s);
		rc = serve_until_stop(s, e);
	}
	if (rc && e->code == ERR_FULL) {
		log_error(LT("msg", "the disk is full, starting read-only"),
			  LT("error", e->text));
		reset_supervisor(s);
		s->read_only = true;
		rc = serve_until_stop(s, e);
	}
	return rc == 0 && s->restart_for_space ? 1 : rc;
}

int skepd_run(const struct skepd_options *o, struct err *e)
{
	struct supervisor *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		abort();
	memory_configure();
	signal(SIGPIPE, SIG_IGN);
	rc = prepare_home(s, o, e);
	if (rc == 0) {
		rc = serve_with_fallback(s, e);
		close(s->home_lock);
	}
	config_fini(&s->config);
	free(s);
	return rc;
}
