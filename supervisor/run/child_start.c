#include "supervisor/run/worker_request.h"

#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/control/child_limits.h"

#include <string.h>

/*
 * A run starts a child run. It can name the agent, the prompt, the session, a
 * time-out and the workspace of the child. It cannot name a host directory,
 * another parent, or settings that override a definition. The key makes the
 * start idempotent in all attempts of the run.
 *
 *   {"agent", "prompt", "session", "timeout_ms", "workspace", "fork_of",
 *    "fork", "fresh", "ephemeral", "share"}
 *
 * fork: the child works in a fork of the namespace in which this run works.
 */
static const char *const members[] = {
	"agent",   "prompt", "session", "timeout_ms", "workspace",
	"fork_of", "fork",   "fresh",   "ephemeral",  "share"};

static int check_members(const cJSON *args, struct err *e)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, args)
	{
		size_t i = 0, n = sizeof members / sizeof *members;

		while (i < n && strcmp(members[i], m->string) != 0)
			i++;
		if (i == n)
			return err_set(e, ERR_INVALID,
				       "a child run has no member '%s'",
				       quoted(m->string).text);
	}
	return 0;
}

static bool names_workspace(const struct run_request *ask)
{
	return ask->workspace || ask->fork_of || ask->fresh || ask->ephemeral;
}

/* A fork of a namespace of an agent that this run may use. */
static int check_fork(const struct child_limits *l,
		      const struct run_row *parent,
		      const struct run_request *ask, struct arena *a,
		      struct err *e)
{
	const char *colon = ask->fork_of ? strchr(ask->fork_of, ':') : NULL;
	const char *agent;

	if (!colon)
		return 0;
	agent = arena_textn(a, ask->fork_of, (size_t)(colon - ask->fork_of));
	if (strcmp(agent, parent->agent) == 0 ||
	    child_limits_name(l, parent, agent))
		return 0;
	return err_set(e, ERR_DENIED,
		       "runs of agent %s may not use files of agent %s",
		       parent->agent, quoted(agent).text);
}

static int fork_own(struct run_request *ask, const struct run_row *parent,
		    struct arena *a, struct err *e)
{
	if (!parent->works_in || parent->works_in[0] == '/')
		return err_set(e, ERR_CONFLICT,
			       "run %s works in a directory of the host, which "
			       "cannot be forked",
			       parent->id);
	if (ask->fork_of)
		return err_set(e, ERR_INVALID,
			       "fork and fork_of exclude each other");
	ask->fork_of = arena_printf(a, "%s:%s", parent->agent,
				    parent->works_in);
	return 0;
}

/* A child in the workspace of its parent would wait until the parent has left
 * it, unless both share it, as runs in a directory do. The definition may give
 * each run its own. */
static int check_wait(const struct run_request *ask,
		      const struct run_row *parent, const cJSON *spec,
		      struct err *e)
{
	bool own = cJSON_IsObject(json_member(spec, "namespace"));
	bool same = strcmp(ask->agent, parent->agent) == 0 &&
		    ((!names_workspace(ask) && !own) ||
		     (ask->workspace && !ask->fork_of && !ask->fresh &&
		      !ask->ephemeral && parent->works_in &&
		      strcmp(ask->workspace, parent->works_in) == 0));

	bool dir = parent->works_in && parent->works_in[0] == '/';

	if (!same || (parent->is_shared && (ask->share || dir)))
		return 0;
	return err_set(e, ERR_CONFLICT,
		       "the child run would wait for the workspace of this "
		       "run; use fork, fork_of, fresh or another agent");
}

static int read_request(struct run_request *ask, const cJSON *args,
			struct err *e)
{
	const cJSON *timeout = json_member(args, "timeout_ms");

	if (check_members(args, e))
		return -1;
	ask->agent = json_text(args, "agent", ask->agent);
	ask->prompt = json_text(args, "prompt", NULL);
	ask->session = json_text(args, "session", NULL);
	ask->workspace = json_text(args, "workspace", NULL);
	ask->fork_of = json_text(args, "fork_of", NULL);
	ask->fresh = json_bool(args, "fresh", false);
	ask->ephemeral = json_bool(args, "ephemeral", false);
	ask->share = json_bool(args, "share", false);
	if (!ask->prompt)
		return err_set(e, ERR_INVALID, "a child run needs a prompt");
	if (timeout &&
	    (!cJSON_IsNumber(timeout) || !(timeout->valuedouble >= 1) ||
	     timeout->valuedouble > 1e12))
		return err_set(e, ERR_INVALID,
			       "timeout_ms must be a number of milliseconds");
	if (timeout)
		ask->run_timeout_ms = (int64_t)timeout->valuedouble;
	if (ask->workspace && text_check_name("workspace", ask->workspace, e))
		return -1;
	return text_check_name("agent", ask->agent, e);
}

static int read_limits(struct supervisor *s, const char *agent,
		       struct child_limits *out, cJSON **spec, struct arena *a,
		       struct err *e)
{
	struct agent_row row;
	int found = supervisor_agent_read(s, agent, &row, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "agent %s was removed", agent);
	if (found < 0)
		return -1;
	*spec = json_parse_object("spec", row.spec, strlen(row.spec), e);
	return *spec ? child_limits_read(out, *spec, e) : -1;
}

/* A start that was repeated is not limited again. */
static int is_known(struct supervisor *s, const struct run_request *ask,
		    struct err *e)
{
	struct run_by_key_in key = {ask->agent, ask->idem_key};
	struct run_by_key_row row;
	struct arena a = {0};
	int found = sql_get(s->db, Q_RUN_BY_KEY, &key, &row, &a, e);

	arena_fini(&a);
	return found;
}

static void answer_start(void *arg, const struct command_result *r)
{
	const struct worker_request *q = arg;
	struct buf b = BUF_MAX(256);
	struct err ignored;

	(void)fault_point(FAULT_child_started, &ignored);
	if (r->failed) {
		worker_request_fail(q, r->failed);
		return;
	}
	json_begin_object(&b);
	json_put_text(&b, "run", r->id.text);
	json_put_bool(&b, "is_new", r->changed);
	json_end_object(&b);
	worker_request_answer(q, b.p);
	buf_fini(&b);
}

static int check_start(struct supervisor *s, const struct run_row *parent,
		       struct run_request *ask, const cJSON *args,
		       struct arena *a, struct err *e)
{
	struct child_limits limits;
	cJSON *spec = NULL;
	int rc = read_limits(s, parent->agent, &limits, &spec, a, e);
	int known = 0;

	if (rc == 0 && json_bool(args, "fork", false))
		rc = fork_own(ask, parent, a, e);
	if (rc == 0)
		known = is_known(s, ask, e);
	if (known < 0)
		rc = -1;
	if (rc == 0)
		rc = check_fork(&limits, parent, ask, a, e);
	if (rc == 0 && known == 0)
		rc = child_limits_check(s->db, &limits, parent, ask->agent, e);
	if (rc == 0 && known == 0)
		rc = check_wait(ask, parent, spec, e);
	cJSON_Delete(spec);
	return rc;
}

int child_start(struct active_run *l, const struct worker_request *q,
		const cJSON *args, struct err *e)
{
	struct completion done = {answer_start, worker_request_keep(q)};
	struct run_request ask = supervisor_run_defaults(q->sup);
	struct arena a = {0};
	struct run_row parent;
	int rc = run_find(q->sup, l->id, &parent, &a, e);

	ask.agent = l->agent;
	ask.parent = l->id;
	ask.idem_key = arena_printf(&a, "child:%s:%s", l->id, q->key);
	ask.by = arena_printf(&a, "run %s", l->id);
	if (rc == 0)
		rc = read_request(&ask, args, e);
	ask.priority = rc ? 0 : parent.priority;
	if (rc == 0)
		rc = txn_begin(&q->sup->txn, e);
	if (rc == 0)
		rc = check_start(q->sup, &parent, &ask, args, &a, e);
	if (rc == 0)
		rc = supervisor_submit_run(q->sup, &ask, done, e);
	if (rc == 0)
		rc = fault_point(FAULT_child_starting, e);
	arena_fini(&a);
	return rc;
}
