#include "supervisor/core/agent_upgrade.h"

#include "lib/base/log.h"
#include "schema/agent/agent_file.h"
#include "schema/control/registry.h"
#include "supervisor/core/supervisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRESH_MS 1000 /* for this time a failure is reported, not tried again */

struct upgrade_waiter {
	struct upgrade_waiter *next;
	struct completion done;
};

struct agent_upgrade {
	struct agent_upgrade *next;
	struct supervisor *sup;
	struct agent_work work;
	struct arena arena; /* of the row's texts */
	struct agent_database_row row;
	struct upgrade_waiter *waiters;
	struct err err;
	int rc;
	int64_t failed_ms; /* uv_now; 0: in progress */
};

static int64_t now_ms(const struct supervisor *s)
{
	return (int64_t)uv_now(&s->loop);
}

static struct agent_upgrade *find_upgrade(struct supervisor *s,
					  const char *agent)
{
	struct agent_upgrade *u = s->upgrades;

	while (u && strcmp(u->row.agent, agent) != 0)
		u = u->next;
	return u;
}

static void free_upgrade(struct agent_upgrade *u)
{
	struct agent_upgrade **at = &u->sup->upgrades;

	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	arena_fini(&u->arena);
	free(u);
}

/* --- in the thread ---------------------------------------------------- */

static void open_in_thread(struct agent_work *w)
{
	struct agent_upgrade *u = w->data;
	struct agent_file f;

	u->rc = registry_open(&u->row, 0, &f, &u->err);
	if (u->rc == 0)
		agent_file_close(&f);
}

/* --- on the loop ------------------------------------------------------ */

/* The row may have changed meanwhile: the file may be another one. */
static int note_version(struct agent_upgrade *u, struct err *e)
{
	struct supervisor *s = u->sup;
	struct agent_database_row row;
	int found = txn_begin(&s->txn, e) ? -1
					  : registry_find(s->db, u->row.agent,
							  &row, &u->arena, e);

	if (found <= 0 || strcmp(row.path, u->row.path) != 0)
		return found < 0 ? -1 : 0;
	row.schema_version = agent_schema.version;
	return registry_seen(s->db, &row, e);
}

static int try_version(struct agent_upgrade *u, struct err *e)
{
	txn_try_begin(&u->sup->txn);
	return txn_try_end(&u->sup->txn, note_version(u, e), e);
}

static void call_waiters(struct agent_upgrade *u)
{
	struct command_result failed = {.failed = &u->err};
	struct upgrade_waiter *w;

	while ((w = u->waiters)) {
		u->waiters = w->next;
		if (u->rc)
			w->done.call(w->done.arg, &failed);
		else
			complete_later(u->sup, w->done, u->row.agent, true,
				       NULL);
		free(w);
	}
}

/* A failure is stored for the run that waits in the queue. A locked file is
 * tried again. */
static void upgrade_done(struct agent_work *w)
{
	struct agent_upgrade *u = w->data;
	struct supervisor *s = u->sup;

	if (u->rc == 0 && s->stopping) /* the next skepd records the version */
		u->rc = err_set(&u->err, ERR_UNAVAILABLE,
				"skepd is shutting down");
	if (u->rc == 0)
		u->rc = try_version(u, &u->err);
	call_waiters(u);
	if (u->rc)
		log_warn(LT("msg", "an agent's file cannot be migrated"),
			 LT("agent", u->row.agent), LT("error", u->err.text));
	u->failed_ms = now_ms(s);
	send_hint(s, &(struct hint){HINT_AGENT_FILE, .agent = u->row.agent});
	if (u->rc == 0 || u->err.code == ERR_BUSY)
		free_upgrade(u);
}

static struct agent_upgrade *begin_upgrade(struct supervisor *s,
					   const struct agent_database_row *row)
{
	struct agent_upgrade *u = calloc(1, sizeof *u);

	if (!u)
		abort();
	u->sup = s;
	u->row = *row;
	u->row.agent = arena_text(&u->arena, row->agent);
	u->row.path = arena_text(&u->arena, row->path);
	u->work = (struct agent_work){.agent = u->row.agent,
				      .data = u,
				      .in_thread = open_in_thread,
				      .done = upgrade_done};
	u->next = s->upgrades;
	s->upgrades = u;
	log_info(LT("msg", "migrating the file of an agent"),
		 LT("agent", row->agent), LT("path", row->path));
	agent_work_submit(s->agent_threads, &u->work);
	return u;
}

static void add_waiter(struct agent_upgrade *u, struct completion done)
{
	struct upgrade_waiter *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	*w = (struct upgrade_waiter){u->waiters, done};
	u->waiters = w;
}

int agent_upgrade(struct supervisor *s, const struct agent_database_row *row,
		  struct completion done, struct err *e)
{
	struct agent_upgrade *u;
	bool fresh;

	if (row->schema_version >= agent_schema.version)
		return 0;
	u = find_upgrade(s, row->agent);
	if (u && u->failed_ms) {
		*e = u->err;
		fresh = now_ms(s) - u->failed_ms < FRESH_MS;
		free_upgrade(u);
		if (fresh)
			return -1;
		u = NULL;
	}
	if (!u)
		u = begin_upgrade(s, row);
	if (done.call)
		add_waiter(u, done);
	return 1;
}

void agent_upgrades_free(struct supervisor *s)
{
	while (s->upgrades)
		free_upgrade(s->upgrades);
}
