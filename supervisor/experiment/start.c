#include "supervisor/core/experiments.h"
#include "supervisor/experiment/internal.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/control/control.h"
#include "schema/control/run_workspace.h"

#include <string.h>

/* Checks and stores a new experiment. */

static const char *const variant_members[] = {"name", "agent", "prompt",
					      "config", NULL};

static int check_members(const cJSON *v, int64_t number, struct err *e)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, v)
	{
		int i = 0;

		while (variant_members[i] &&
		       strcmp(variant_members[i], m->string) != 0)
			i++;
		if (!variant_members[i])
			return err_set(e, ERR_INVALID,
				       "variant %lld: unknown member %s; a "
				       "variant has name, agent, prompt and "
				       "config",
				       (long long)number,
				       quoted(m->string).text);
		if (!(i == 3 ? cJSON_IsObject(m) : cJSON_IsString(m)))
			return err_set(e, ERR_INVALID,
				       "variant %lld: %s must be %s",
				       (long long)number, m->string,
				       i == 3 ? "an object" : "a string");
	}
	return 0;
}

/* config overrides that of the agent's definition, as in the options of a
 * run. */
static const char *options_of(const cJSON *v, struct arena *a)
{
	const cJSON *config = json_member(v, "config");
	struct buf b = BUF_MAX(RUN_OPTIONS_MAX);
	const char *text;

	json_begin_object(&b);
	if (config)
		json_put(&b, "config", config);
	json_end_object(&b);
	text = arena_text(a, b.p);
	buf_fini(&b);
	return text;
}

static int add_variant(struct supervisor *s, const char *id, const cJSON *v,
		       struct variant_row *row, struct arena *a, struct err *e)
{
	const char *agent = json_text(v, "agent", NULL);
	const char *prompt = json_text(v, "prompt", NULL);

	if (!cJSON_IsObject(v))
		return err_set(e, ERR_INVALID, "variant %lld is not an object",
			       (long long)row->number);
	if (check_members(v, row->number, e))
		return -1;
	if (!prompt || !agent)
		return err_set(e, ERR_INVALID, "variant %lld has no %s",
			       (long long)row->number,
			       agent ? "prompt" : "agent");
	if (strlen(prompt) > RUN_PROMPT_MAX)
		return err_set(e, ERR_TOOBIG,
			       "the prompt of variant %lld is over %u bytes",
			       (long long)row->number, RUN_PROMPT_MAX);
	if (text_check_name("agent", agent, e) ||
	    supervisor_agent_check(s, agent, e))
		return -1;
	row->experiment = id;
	row->agent = agent;
	row->prompt = prompt;
	row->name = json_text(v, "name", agent);
	if (text_check_key("the name of a variant", row->name, 200, e))
		return -1;
	row->options = options_of(v, a);
	return sql_exec(s->db, Q_VARIANT_ADD, row, e) < 0 ? -1 : 0;
}

static int add_variants(struct supervisor *s, const char *id, const char *text,
			struct arena *a, struct err *e)
{
	cJSON *list = json_parse("variants", text, strlen(text), e);
	struct variant_row row = {0};
	const cJSON *v;
	int rc = list ? 0 : -1;

	if (list && (cJSON_GetArraySize(list) < 1 ||
		     cJSON_GetArraySize(list) > EXPERIMENT_VARIANTS_MAX))
		rc = err_set(e, ERR_INVALID,
			     "an experiment has 1 to %d variants",
			     EXPERIMENT_VARIANTS_MAX);
	cJSON_ArrayForEach(v, list)
	{
		row.number++;
		if (rc == 0)
			rc = add_variant(s, id, v, &row, a, e);
	}
	cJSON_Delete(list);
	return rc;
}

/* Repeats of all variants alternate, so that a slow hour of a provider hits all
 * of them. The n-th repeats of all variants have the same seed. */
int experiment_add_trials(struct supervisor *s, const char *id, int64_t runs,
			  int64_t seed, struct err *e)
{
	struct variant_list_in of = {id};
	struct trial_last_in key = {id};
	struct trial_last_row last;
	struct variant_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_VARIANT_LIST, &of, EXPERIMENT_VARIANTS_MAX,
			    &rows, &a, e);
	int rc = n < 0 ? -1 : sql_get(s->db, Q_TRIAL_LAST, &key, &last, &a, e);

	if (rc > 0)
		rc = last.number + runs * n > EXPERIMENT_TRIALS_MAX
			     ? err_set(e, ERR_INVALID,
				       "an experiment has at most %d trials",
				       EXPERIMENT_TRIALS_MAX)
			     : 0;
	for (int64_t i = 0; rc == 0 && i < runs * n; i++) {
		struct trial_add_in add = {id, ++last.number,
					   rows[i % n].number, seed + i / n};

		rc = sql_exec(s->db, Q_TRIAL_ADD, &add, e) < 0 ? -1 : 0;
	}
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

/* NAMESPACE[@SNAPSHOT] of the agent; without a snapshot, one is taken. */
static int read_source(const struct experiment_request *req,
		       struct experiment_add_in *row, struct arena *a,
		       struct err *e)
{
	char *name = arena_text(a, req->from ? req->from : WORKSPACE_MAIN);
	char *at = strchr(name, '@');

	row->source = name;
	row->snapshot = row->id;
	row->owns_snapshot = !at;
	if (at) {
		*at = '\0';
		row->snapshot = at + 1;
	}
	if (text_check_name("from: the namespace", row->source, e) == 0 &&
	    text_check_name("from: the snapshot", row->snapshot, e) == 0)
		return 0;
	e->code = ERR_INVALID;
	return -1;
}

static int start(struct supervisor *s, const struct experiment_request *req,
		 struct arena *a, struct completion done, struct err *e)
{
	struct id id = id_new(ID_EXPERIMENT);
	struct experiment_add_in row = {.id = id.text,
					.agent = req->agent,
					.check_command = req->check,
					.keeps_forks = req->keep,
					.submitted_by = req->by,
					.now = clock_now()};

	if (s->stopping)
		return err_set(e, ERR_UNAVAILABLE, "skepd is shutting down");
	if (text_check_name("agent", req->agent, e) ||
	    supervisor_agent_check(s, req->agent, e) ||
	    read_source(req, &row, a, e) || txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_EXPERIMENT_ADD, &row, e) < 0 ||
	    add_variants(s, id.text, req->variants, a, e) ||
	    experiment_add_trials(s, id.text, req->runs, req->seed, e) ||
	    control_audit(s->db, req->by, "experiment.start", id.text, NULL, e))
		return -1;
	experiments_wake(s);
	complete_later(s, done, id.text, true, "started");
	return 0;
}

int supervisor_experiment_start(struct supervisor *s,
				const struct experiment_request *req,
				struct completion done, struct err *e)
{
	struct arena a = {0};
	int rc;

	txn_try_begin(&s->txn);
	rc = txn_try_end(&s->txn, start(s, req, &a, done, e), e);
	arena_fini(&a);
	return rc;
}
