#include "schema/control/schedule_bundle.h"

#include "lib/base/log.h"
#include "schema/control/control.h"
#include "schema/control/schedule.h"

#define SCHEDULES_MAX 100000

int schedule_bundle_write(struct sql *db, const char *agent, struct buf *out,
			  struct err *e)
{
	struct schedule_of_agent_in key = {agent};
	struct schedule_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_SCHEDULE_OF_AGENT, &key, SCHEDULES_MAX, &rows,
			    &a, e);

	json_put_array(out, "schedules");
	for (int i = 0; i < n; i++) {
		json_begin_object(out);
		json_put_text(out, "name", rows[i].name);
		json_put_text(out, "cron", rows[i].cron);
		json_put_opt(out, "every_ms", rows[i].every_ms);
		json_put_opt(out, "at", rows[i].at);
		json_put_text(out, "zone", rows[i].zone);
		json_put_int(out, "jitter_ms", rows[i].jitter_ms);
		json_put_opt(out, "starts_at", rows[i].starts_at);
		json_put_opt(out, "ends_at", rows[i].ends_at);
		json_put_text(out, "missed", rows[i].missed);
		json_put_opt(out, "window_ms", rows[i].window_ms);
		json_put_text(out, "overlap", rows[i].overlap);
		json_put_text(out, "action", rows[i].action);
		json_put_text(out, "prompt", rows[i].prompt);
		json_put_text(out, "session", rows[i].session);
		json_put_text(out, "workspace", rows[i].workspace);
		json_put_opt(out, "timeout_ms", rows[i].timeout_ms);
		json_put_text(out, "deliver_to", rows[i].deliver_to);
		json_end_object(out);
	}
	json_end_array(out);
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

/* A member that may be null. */
static int64_t opt_member(const cJSON *v, const char *name)
{
	return cJSON_IsNumber(json_member(v, name)) ? json_i64(v, name, 0)
						    : OPT_NONE;
}

static int free_name(struct sql *db, struct schedule_row *row, struct arena *a,
		     struct err *e)
{
	struct schedule_get_in key = {row->name};
	struct schedule_row known;
	int found = sql_get(db, Q_SCHEDULE_GET, &key, &known, a, e);

	if (found > 0)
		row->name = arena_printf(a, "%s-%s", row->agent, row->name);
	return found < 0 ? -1 : 0;
}

static int insert_schedule(struct sql *db, const char *agent, const cJSON *v,
			   int64_t now, struct arena *a, struct err *e)
{
	struct schedule_row row = {
		.name = json_text(v, "name", ""),
		.cron = json_text(v, "cron", NULL),
		.every_ms = opt_member(v, "every_ms"),
		.at = opt_member(v, "at"),
		.zone = json_text(v, "zone", "UTC"),
		.jitter_ms = json_i64(v, "jitter_ms", 0),
		.starts_at = opt_member(v, "starts_at"),
		.ends_at = opt_member(v, "ends_at"),
		.missed = json_text(v, "missed", "once"),
		.window_ms = opt_member(v, "window_ms"),
		.overlap = json_text(v, "overlap", "skip"),
		.action = json_text(v, "action", "run"),
		.agent = agent,
		.prompt = json_text(v, "prompt", NULL),
		.session = json_text(v, "session", NULL),
		.workspace = json_text(v, "workspace", NULL),
		.timeout_ms = opt_member(v, "timeout_ms"),
		.deliver_to = json_text(v, "deliver_to", NULL),
		.held = "it was imported with its agent",
		.submitted_by = control_actor(),
	};
	struct schedule_get_in key;
	struct schedule_row known;
	int found;

	if (free_name(db, &row, a, e))
		return -1;
	key.name = row.name;
	found = sql_get(db, Q_SCHEDULE_GET, &key, &known, a, e);
	return found ? found : schedule_put(db, &row, now, e);
}

int schedule_bundle_insert(struct sql *db, const char *agent, const cJSON *list,
			   int64_t now, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		struct arena a = {0};
		int rc = insert_schedule(db, agent, v, now, &a, e);

		arena_fini(&a);
		if (rc < 0 && e->code == ERR_INVALID) /* it has ended */
			log_info(LT("msg", "a schedule was not imported"),
				 LT("reason", e->text));
		else if (rc < 0)
			return -1;
	}
	return 0;
}
