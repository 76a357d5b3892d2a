#include "supervisor/experiment/internal.h"

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "schema/control/run.h"

#include <string.h>

/* The runs of a trial. Each has an idempotency key, by which its id is found. */

static int find_run(struct supervisor *s, const char *agent, const char *key,
		    const char **out, struct arena *a, struct err *e)
{
	struct run_by_key_in in = {agent, key};
	struct run_by_key_row row;
	int found = sql_get(s->db, Q_RUN_BY_KEY, &in, &row, a, e);

	if (found == 0)
		return err_set(e, ERR_INTERNAL, "the run %s is missing", key);
	*out = found > 0 ? row.id : NULL;
	return found < 0 ? -1 : 0;
}

static const char *tags_of(const struct trial_next_row *t, struct arena *a)
{
	struct buf b = BUF_MAX(256);
	const char *text;

	json_begin_array(&b);
	json_add_text(&b, t->experiment);
	json_end_array(&b);
	text = arena_text(a, b.p);
	buf_fini(&b);
	return text;
}

static const char *options_of(const struct trial_next_row *t, struct arena *a)
{
	struct buf b = BUF_MAX(RUN_OPTIONS_MAX);
	const char *text;

	json_begin_object(&b);
	json_put_int(&b, "seed", t->seed);
	json_put_members(&b, t->options);
	json_end_object(&b);
	text = arena_text(a, b.p);
	buf_fini(&b);
	return text;
}

static int submit(struct supervisor *s, const struct trial_next_row *t,
		  struct run_request *req, const char **run, struct arena *a,
		  struct err *e)
{
	struct completion no_reply = {0};

	req->agent = t->agent;
	req->tags = tags_of(t, a);
	req->invocation = t->experiment;
	req->by = t->submitted_by;
	return supervisor_submit_run(s, req, no_reply, e) ||
			       find_run(s, t->agent, req->idem_key, run, a, e)
		       ? -1
		       : 0;
}

static int fail_trial(struct supervisor *s, const struct trial_next_row *t,
		      const char *why, struct err *e)
{
	struct trial_fail_in in = {t->experiment, t->number, why};

	log_warn(LT("msg", "a trial cannot start"),
		 LT("experiment", t->experiment), LI("trial", t->number),
		 LT("why", why));
	return sql_exec(s->db, Q_TRIAL_FAIL, &in, e) < 0 ? -1 : 0;
}

int trial_start(struct supervisor *s, const struct trial_next_row *t,
		struct err *e)
{
	struct run_request req = supervisor_run_defaults(s);
	struct arena a = {0};
	struct trial_start_in in = {.experiment = t->experiment,
				    .number = t->number};
	struct err why;
	int rc;

	in.fork = t->attempt > 1
			  ? arena_printf(&a, "%s-%lld-%lld", t->experiment,
					 (long long)t->number,
					 (long long)t->attempt)
			  : arena_printf(&a, "%s-%lld", t->experiment,
					 (long long)t->number);
	req.prompt = t->prompt;
	req.options = options_of(t, &a);
	req.idem_key = in.fork;
	req.workspace = in.fork;
	req.fork_of = strcmp(t->agent, t->source_agent)
			      ? arena_printf(&a, "%s:%s@%s", t->source_agent,
					     t->source, t->snapshot)
			      : arena_printf(&a, "%s@%s", t->source,
					     t->snapshot);
	if (submit(s, t, &req, &in.run, &a, &why) == 0)
		rc = sql_exec(s->db, Q_TRIAL_START, &in, e) < 0 ? -1 : 0;
	else
		rc = fail_trial(s, t, why.text, e);
	arena_fini(&a);
	return rc;
}

int trial_check(struct supervisor *s, const struct trial_next_row *t,
		struct err *e)
{
	struct run_request req = supervisor_run_defaults(s);
	struct trial_check_in in = {.experiment = t->experiment,
				    .number = t->number};
	struct arena a = {0};
	struct err why;
	int rc;

	req.prompt = req.command = t->check_command;
	req.workspace = t->fork;
	req.max_attempts = 1;
	req.idem_key = arena_printf(&a, "%s-check", t->fork);
	if (submit(s, t, &req, &in.run, &a, &why) == 0)
		rc = sql_exec(s->db, Q_TRIAL_CHECK, &in, e) < 0 ? -1 : 0;
	else
		rc = fail_trial(s, t, why.text, e);
	arena_fini(&a);
	return rc;
}
