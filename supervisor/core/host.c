#include "supervisor/channel/channel.h"
#include "supervisor/core/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/os/sd_notify.h"
#include "schema/control/control.h"

#include <string.h>
#include <unistd.h>

/* --- reading ---------------------------------------------------------- */

struct sql *supervisor_db(struct supervisor *s)
{
	return s->db;
}

const struct config *supervisor_config(const struct supervisor *s)
{
	return &s->config;
}

const struct home *supervisor_home(const struct supervisor *s)
{
	return &s->home;
}

bool supervisor_run_activity(struct supervisor *s, const char *run,
			     struct run_activity *out)
{
	const struct active_run *l = active_run_find(&s->active, run);
	int64_t ago;

	if (!l)
		return false;
	ago = (int64_t)uv_now(&s->loop) - l->heard_ms;
	*out = (struct run_activity){
		.last_seq = l->last_seq,
		.rev = l->rev,
		.heard_at = l->connected ? clock_now() - ago : 0,
		.phase = l->phase,
		.connected = l->connected,
		.exited = l->exited,
		.silent = ago > 3 * l->heartbeat_ms,
	};
	return true;
}

void supervisor_run_memory(struct supervisor *s, const char *run,
			   struct run_memory *out)
{
	const struct active_run *l = active_run_find(&s->active, run);
	struct tree t;

	*out = (struct run_memory){0};
	if (!l)
		return;
	t = active_run_tree(l);
	out->processes = tree_count(&s->place, &t, &out->rss);
}

bool supervisor_idle_worker(struct supervisor *s, int64_t n, bool memory,
			    struct idle_worker_info *out)
{
	const struct idle_worker *w = s->idle.first;
	struct tree t;

	while (w && n-- > 0)
		w = w->next;
	if (!w)
		return false;
	*out = (struct idle_worker_info){
		.run = w->run,
		.agent = w->agent,
		.session = w->session,
		.pid = w->pid,
		.since = w->since,
		.connected = w->is_waiting,
	};
	t = idle_tree(w);
	if (memory)
		out->tree.processes = tree_count(&s->place, &t, &out->tree.rss);
	return true;
}

static void count_connected(struct active_run *l, void *arg)
{
	*(int64_t *)arg += l->connected;
}

void supervisor_status_get(struct supervisor *s, struct supervisor_status *out)
{
	struct run_waiting_row row = {0};
	struct err e;

	*out = (struct supervisor_status){
		.pid = getpid(),
		.epoch = s->epoch,
		.started_at = s->started_at,
		.active = s->active.count,
		.idle = s->idle.count,
		.preforked = prefork_ready(s),
		.version = SKEP_VERSION,
		.stopping = s->stopping,
		.read_only = s->read_only,
		.listen = s->config.http_listen,
		.restarts = s->watchdog.restarts,
		.restarted_at = OPT_NONE,
	};
	if (s->read_only || sql_in_place(s->db, &out->lost) == 0)
		out->lost.text[0] = '\0';
	if (s->watchdog.restarts > 0) {
		out->restarted_at = s->watchdog.ended_at;
		out->restart_cause = s->watchdog.cause;
	}
	active_run_each(&s->active, count_connected, &out->workers_connected);
	if (sql_get(s->db, Q_RUN_WAITING, NULL, &row, NULL, &e) < 0)
		log_error(LT("msg", "runs cannot be counted"),
			  LT("error", e.text));
	out->queued = row.queued + row.delayed - s->active.count;
}

/* --- tokens ----------------------------------------------------------- */

static int add_token(struct supervisor *s, const char *name, const char *hash,
		     const char *scopes, struct completion done, struct err *e)
{
	struct id id = id_new(ID_TOKEN);
	struct api_token_row row = {
		.id = id.text,
		.name = name,
		.hash = hash,
		.scopes = scopes,
		.created_at = clock_now(),
		.expires_at = OPT_NONE,
	};
	struct api_token_named_in key = {name};
	struct api_token_named_row known;
	int found;

	if (txn_begin(&s->txn, e))
		return -1;
	found = sql_get(s->db, Q_API_TOKEN_NAMED, &key, &known, NULL, e);
	if (found == 1 && known.n > 0)
		return err_set(e, ERR_CONFLICT, "token '%s' already exists",
			       name);
	if (found < 0 || sql_exec(s->db, Q_API_TOKEN_PUT, &row, e) < 0 ||
	    control_audit(s->db, "skepd", "token.add", name, NULL, e))
		return -1;
	complete_later(s, done, id.text, true, NULL);
	return 0;
}

int supervisor_token_add(struct supervisor *s, const char *name,
			 const char *hash, const char *scopes,
			 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, add_token(s, name, hash, scopes, done, e),
			   e);
}

static int delete_token(struct supervisor *s, const char *name,
			struct completion done, struct err *e)
{
	struct api_token_delete_in key = {name};
	int n;

	if (txn_begin(&s->txn, e))
		return -1;
	n = sql_exec(s->db, Q_API_TOKEN_DELETE, &key, e);
	if (n < 0)
		return -1;
	if (n == 0)
		return err_set(e, ERR_NOTFOUND, "there is no token '%s'", name);
	if (control_audit(s->db, "skepd", "token.delete", name, NULL, e))
		return -1;
	complete_later(s, done, name, true, NULL);
	return 0;
}

int supervisor_token_delete(struct supervisor *s, const char *name,
			    struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_token(s, name, done, e), e);
}

/* --- going down ------------------------------------------------------- */

static void stop_one(struct active_run *l, void *arg)
{
	active_run_stop(l, arg);
}

/* After the commit, so that whoever asked has its answer. */
static void end_loop(void *arg, const struct err *failed)
{
	struct supervisor *s = arg;

	if (failed)
		return;
	s->ended = true;
	channels_leave(s);
}

void end_if_done(struct supervisor *s)
{
	if (s->stopping && s->active.count == 0 && s->idle.count == 0 &&
	    !s->ended)
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
		.active = s->active.count,
	};
	char *copy;

	if (strcmp(intent, "restart") != 0 && strcmp(intent, "down") != 0 &&
	    strcmp(intent, "down-now") != 0)
		return err_set(e, ERR_USAGE,
			       "the intent must be restart, down or down-now");
	if (!s->read_only)
		(void)control_file_in_place(s);
	if (s->txn.refused) { /* nothing can be recorded, and nothing lost */
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
	log_info(LT("msg", "asked to go"), LT("intent", intent), LT("by", by),
		 LI("active", s->active.count));
	notify("STOPPING=1");
	s->stopping = true;
	complete_later(s, done, intent, true, intent);
	copy = txn_text(&s->txn, by);
	if (!strcmp(intent, "restart"))
		txn_on_commit(&s->txn, end_loop, s);
	else
		idle_evict_all(s, NULL);
	if (!strcmp(intent, "down-now"))
		active_run_each(&s->active, stop_one, copy);
	end_if_done(s);
	return 0;
}

int supervisor_stop(struct supervisor *s, const char *intent, const char *by,
		    struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, stop_supervisor(s, intent, by, done, e), e);
}
