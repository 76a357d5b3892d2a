#include "schema/control/child_limits.h"

#include "lib/base/text.h"
#include "schema/definition.h"

#include <inttypes.h>
#include <string.h>

#define COUNT_MAX  10000
#define TOKENS_MAX INT64_C(1000000000000)
#define COST_MAX   1e6 /* dollars */

static int read_count(const cJSON *v, const char *name, int64_t max,
		      int64_t *out, struct err *e)
{
	const cJSON *m = json_member(v, name);

	if (!m || cJSON_IsNull(m))
		return 0;
	*out = json_i64(v, name, -1);
	if (!cJSON_IsNumber(m) || *out < 0 || *out > max ||
	    (double)*out != m->valuedouble)
		return err_set(e, ERR_INVALID,
			       "children.%s must be a whole number from 0 to "
			       "%" PRId64,
			       name, max);
	return 0;
}

static int read_cost(const cJSON *v, int64_t *out, struct err *e)
{
	const cJSON *m = json_member(v, "max_cost");

	if (!m || cJSON_IsNull(m))
		return 0;
	if (!cJSON_IsNumber(m) || !(m->valuedouble >= 0) ||
	    m->valuedouble > COST_MAX)
		return err_set(e, ERR_INVALID,
			       "children.max_cost must be a number of dollars "
			       "from 0 to 1000000");
	*out = (int64_t)(m->valuedouble * 1e6);
	return 0;
}

static int read_agents(const cJSON *v, const cJSON **out, struct err *e)
{
	const cJSON *list = json_member(v, "agents"), *m;

	if (!list || cJSON_IsNull(list))
		return 0;
	if (!cJSON_IsArray(list))
		return err_set(e, ERR_INVALID,
			       "children.agents must be a list of names");
	cJSON_ArrayForEach(m, list)
	{
		const char *name = cJSON_GetStringValue(m);

		if (!name || (strcmp(name, "*") != 0 &&
			      text_check_name("agent", name, e)))
			return err_set(e, ERR_INVALID,
				       "children.agents must contain names of "
				       "agents, or \"*\"");
	}
	*out = list;
	return 0;
}

int child_limits_read(struct child_limits *out, const cJSON *spec,
		      struct err *e)
{
	const cJSON *v = json_member(spec, "children");

	*out = (struct child_limits){
		.max_depth = 1,
		.max_concurrent = 4,
		.max_total = 32,
		.max_cost_micros = OPT_NONE,
		.max_tokens = OPT_NONE,
	};
	if (!v || cJSON_IsNull(v))
		return 0;
	if (!cJSON_IsObject(v))
		return err_set(e, ERR_INVALID, "children must be an object");
	if (definition_check_names("children", v, e) ||
	    read_agents(v, &out->agents, e) ||
	    read_count(v, "max_depth", COUNT_MAX, &out->max_depth, e) ||
	    read_count(v, "max_concurrent", COUNT_MAX, &out->max_concurrent,
		       e) ||
	    read_count(v, "max_total", COUNT_MAX, &out->max_total, e) ||
	    read_count(v, "max_tokens", TOKENS_MAX, &out->max_tokens, e) ||
	    read_cost(v, &out->max_cost_micros, e))
		return -1;
	out->allowed = true;
	return 0;
}

bool child_limits_name(const struct child_limits *l,
		       const struct run_row *parent, const char *agent)
{
	const cJSON *m;

	if (!l->allowed)
		return false;
	if (strcmp(agent, parent->agent) == 0 && !l->agents)
		return true;
	cJSON_ArrayForEach(m, l->agents)
	{
		if (strcmp(m->valuestring, "*") == 0 ||
		    strcmp(m->valuestring, agent) == 0)
			return true;
	}
	return false;
}

static int check_counts(const struct child_limits *l,
			const struct run_child_counts_row *n, struct err *e)
{
	if (n->total >= l->max_total)
		return err_set(e, ERR_RATELIMIT,
			       "the run has started %" PRId64 " child runs, "
			       "and children.max_total allows no more",
			       n->total);
	if (n->open >= l->max_concurrent)
		return err_set(e, ERR_RATELIMIT,
			       "%" PRId64 " child runs have not ended, and "
			       "children.max_concurrent allows no more at the "
			       "same time",
			       n->open);
	return 0;
}

static int check_budget(const struct child_limits *l,
			const struct run_tree_usage_row *u, struct err *e)
{
	if (l->max_tokens != OPT_NONE && u->tokens >= l->max_tokens)
		return err_set(e, ERR_RATELIMIT,
			       "the runs below this one have used %" PRId64
			       " tokens, and children.max_tokens allows "
			       "%" PRId64,
			       u->tokens, l->max_tokens);
	if (l->max_cost_micros != OPT_NONE &&
	    u->cost_micros >= l->max_cost_micros)
		return err_set(e, ERR_RATELIMIT,
			       "the runs below this one have cost $%.4f, and "
			       "children.max_cost allows $%.4f",
			       (double)u->cost_micros / 1e6,
			       (double)l->max_cost_micros / 1e6);
	return 0;
}

int child_limits_check(struct sql *db, const struct child_limits *l,
		       const struct run_row *parent, const char *agent,
		       struct err *e)
{
	struct run_child_counts_in key = {parent->id};
	struct run_tree_usage_in tree = {parent->id};
	struct run_child_counts_row counts = {0};
	struct run_tree_usage_row usage = {0};

	if (!l->allowed)
		return err_set(e, ERR_DENIED,
			       "runs of agent %s start no child runs; its "
			       "definition needs the member \"children\"",
			       parent->agent);
	if (!child_limits_name(l, parent, agent))
		return err_set(e, ERR_DENIED,
			       "runs of agent %s may not start runs of %s; "
			       "children.agents lists those that they may "
			       "start",
			       parent->agent, quoted(agent).text);
	if (parent->depth >= l->max_depth)
		return err_set(e, ERR_RATELIMIT,
			       "the run has depth %" PRId64 ", and "
			       "children.max_depth allows child runs up to "
			       "depth %" PRId64,
			       parent->depth, l->max_depth);
	if (sql_get(db, Q_RUN_CHILD_COUNTS, &key, &counts, NULL, e) < 0 ||
	    check_counts(l, &counts, e))
		return -1;
	if (l->max_tokens == OPT_NONE && l->max_cost_micros == OPT_NONE)
		return 0;
	return sql_get(db, Q_RUN_TREE_USAGE, &tree, &usage, NULL, e) < 0 ||
			       check_budget(l, &usage, e)
		       ? -1
		       : 0;
}
