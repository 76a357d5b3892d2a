#include "schema/control/run.h"

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "schema/control/run_workspace.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { WAITING, ACTIVE, FINAL };

static const struct {
	const char *word;
	int kind;
} states[RUN_STATES] = {
#define RUN_STATE(name, word, kind) [RUN_##name] = {word, kind},
#include "schema/control/run_state.def"
#undef RUN_STATE
};

static const char *const pending_states[RUN_PENDING_STATES] = {
	[RUN_PENDING_SUCCEEDED] = "succeeded",
	[RUN_PENDING_FAILED] = "failed",
	[RUN_PENDING_CANCELLED] = "cancelled",
	[RUN_PENDING_TIMED_OUT] = "timed_out",
	[RUN_PENDING_QUEUED] = "queued",
};

#define RUN_REASON(code, word) const char run_reason_##code[] = #code;
#include "schema/control/run_reason.def"
#undef RUN_REASON

const char *run_state_name(enum run_state s)
{
	return states[s].word;
}

int run_state_from(const char *word)
{
	for (int i = 0; word && i < RUN_STATES; i++)
		if (!strcmp(states[i].word, word))
			return i;
	return -1;
}

bool run_state_is_over(enum run_state s)
{
	return states[s].kind == FINAL;
}

bool run_row_is_over(const struct run_row *row)
{
	return run_state_is_over((enum run_state)run_state_from(row->state));
}

bool run_state_lives(enum run_state s)
{
	return states[s].kind == ACTIVE;
}

const char *run_pending_name(enum run_pending_state v)
{
	return pending_states[v];
}

enum run_pending_state run_pending_from(const char *word)
{
	for (int i = 1; word && i < RUN_PENDING_STATES; i++)
		if (!strcmp(pending_states[i], word))
			return (enum run_pending_state)i;
	return RUN_PENDING_NONE;
}

int run_reason_seed(struct sql *db, const char *code, const char *description,
		    struct err *e)
{
	struct reason_put_in in = {.code = code, .description = description};

	return sql_exec(db, Q_REASON_PUT, &in, e) < 0 ? -1 : 0;
}

int run_reasons_seed(struct sql *db, struct err *e)
{
	static const char *const all[][2] = {
#define RUN_REASON(code, word) {#code, word},
#include "schema/control/run_reason.def"
#undef RUN_REASON
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (run_reason_seed(db, all[i][0], all[i][1], e))
			return -1;
	return 0;
}

static int add_transition(struct sql *db, const struct run_transition *m,
			  const char *from, struct err *e)
{
	struct run_transition_add_in row = {
		.run = m->id,
		.attempt = m->attempt,
		.from_state = from,
		.to_state = run_state_name(m->to),
		.reason = m->reason,
		.detail = m->detail,
		.at = m->now,
	};
	struct host_event_run_in event = {
		.at = m->now,
		.run = m->id,
		.agent = m->agent,
		.session = m->session,
		.from_state = from,
		.to_state = row.to_state,
		.reason = m->reason,
		.attempt = m->attempt,
	};

	if (sql_exec(db, Q_RUN_TRANSITION_ADD, &row, e) < 0)
		return -1;
	return sql_exec(db, Q_HOST_EVENT_RUN, &event, e) < 0 ? -1 : 0;
}

/* --- enqueue ---------------------------------------------------------- */

static const struct field request_members[] = {
#define RUN_MEMBER(field, name, type, need, column, again, option) \
	{#name, FIELD_##field, offsetof(struct run_request, name)},
#include "schema/control/run_request.def"
#undef RUN_MEMBER
};

void run_request_merge(struct run_request *to, const struct run_request *from)
{
	for (size_t i = 0; i < sizeof request_members / sizeof *request_members;
	     i++) {
		const struct field *f = &request_members[i];
		const void *given = field_in(f, from);

		if (f->type == FIELD_bool) {
			if (*(const bool *)given)
				*(bool *)field_out(f, to) = true;
		} else if (f->type == FIELD_opt) {
			if (*(const int64_t *)given != OPT_NONE)
				*(int64_t *)field_out(f, to) = *(
					const int64_t *)given;
		} else if (*(const char *const *)given) {
			*(const char **)field_out(f, to) = *(
				const char *const *)given;
		}
	}
}

/* Requests without a workspace have the digest that they had before there were
 * workspaces. */
static void add_workspace(struct hash *h, const struct run_request *request)
{
	const char *parts[] = {request->workspace,
			       request->fork_of,
			       request->over,
			       request->fresh ? "fresh" : NULL,
			       request->ephemeral ? "ephemeral" : NULL,
			       request->share ? "share" : NULL};

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		char place = (char)('0' + i);

		if (!parts[i])
			continue;
		hash_add(h, &place, 1);
		hash_add(h, parts[i], strlen(parts[i]) + 1);
	}
}

/* The members that make two requests with one key the same request. */
static void digest_of(const struct run_request *request, char out[HASH_HEX])
{
	struct hash *h = hash_new();
	const char *parts[] = {request->prompt, request->session,
			       request->options, request->parent};

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		const char *p = parts[i] ? parts[i] : "";

		hash_add(h, p, strlen(p) + 1);
	}
	add_workspace(h, request);
	hash_end(h, out);
}

/* Returns 1 if a run with the key exists. */
static int find_by_key(struct sql *db, const struct run_request *request,
		       const char *digest, struct run_made *out, struct err *e)
{
	struct run_by_key_in key = {.agent = request->agent,
				    .idem_key = request->idem_key};
	struct run_by_key_row row;
	struct arena a = {0};
	int found;

	if (!request->idem_key)
		return 0;
	found = sql_get(db, Q_RUN_BY_KEY, &key, &row, &a, e);
	if (found == 1 && strcmp(row.idem_digest, digest) != 0)
		found = err_set(e, ERR_CONFLICT,
				"the idempotency key %s was used for another "
				"request (%s)",
				quoted(request->idem_key).text, row.id);
	else if (found == 1)
		snprintf(out->id.text, sizeof out->id.text, "%s", row.id);
	arena_fini(&a);
	return found;
}

/* Commands accept a name wherever they accept an id. */
static int check_run_name(const char *name, struct err *e)
{
	if (text_check_name("name of the run", name, e))
		return -1;
	if (!strcmp(name, "last") || !strncmp(name, "run_", 4))
		return err_set(e, ERR_INVALID,
			       "a run cannot be named '%s': commands read this "
			       "word as %s",
			       name, *name == 'l' ? "the newest run" : "an id");
	return 0;
}

static int check_ask(const struct run_request *request, struct err *e)
{
	if (text_check_name("agent", request->agent, e) ||
	    (request->name && check_run_name(request->name, e)) ||
	    (request->session &&
	     text_check_key("session", request->session, 256, e)) ||
	    (request->idem_key &&
	     text_check_key("idempotency key", request->idem_key, 256, e)) ||
	    (request->invocation &&
	     text_check_key("invocation", request->invocation, 256, e)))
		return -1;
	if (request->priority < -100 || request->priority > 100)
		return err_set(e, ERR_INVALID,
			       "priority must be between -100 and 100");
	if (request->max_attempts < 1 || request->max_attempts > 100)
		return err_set(e, ERR_INVALID,
			       "attempts must be between 1 and 100");
	if (strlen(request->prompt) > RUN_PROMPT_MAX)
		return err_set(e, ERR_TOOBIG,
			       "the prompt has %zu bytes; at most %u are "
			       "allowed, and more can be attached",
			       strlen(request->prompt), RUN_PROMPT_MAX);
	if (!text_is_utf8(request->prompt, strlen(request->prompt)))
		return err_set(e, ERR_INVALID, "the prompt is not UTF-8");
	return run_workspace_check(request, e);
}

/* The depth of the run below its parent, and the invocation that it shares. */
static int take_parent(struct sql *db, const struct run_request *request,
		       int64_t *depth, const char **invocation, struct arena *a,
		       struct err *e)
{
	struct run_row row;
	int found;

	*depth = 0;
	if (!request->parent)
		return 0;
	found = sql_get(db, Q_RUN_GET, &(struct run_get_in){request->parent},
			&row, a, e);
	if (found == 1) {
		*depth = row.depth + 1;
		if (!*invocation)
			*invocation = row.invocation;
	}
	if (found == 0)
		found = err_set(e, ERR_NOTFOUND, "there is no parent run '%s'",
				quoted(request->parent).text);
	else if (found == 1 && *depth > request->max_depth)
		found = err_set(e, ERR_INVALID,
				"child runs are limited to a depth of %lld",
				(long long)request->max_depth);
	else if (found == 1 && run_row_is_over(&row))
		found = err_set(e, ERR_CONFLICT, "the parent run %s has ended",
				row.id);
	return found < 0 ? -1 : 0;
}

/* The position of the new run in its session, by the policy. */
static int enter_queue(struct sql *db, const struct run_request *request,
		       struct run_insert_in *row, struct run_made *out,
		       struct err *e)
{
	struct run_queue_state_in key = {row->agent, row->session};
	struct run_queue_state_row queue;
	struct arena a = {0};
	int rc = 0;

	if (sql_get(db, Q_RUN_QUEUE_STATE, &key, &queue, &a, e) < 0) {
		rc = -1;
	} else if (queue.waiting > 0 && !strcmp(row->policy, "reject")) {
		rc = err_set(e, ERR_CONFLICT,
			     "run_in_flight: session %s of %s "
			     "is busy with %s",
			     quoted(row->session).text, row->agent, queue.next);
	} else if (queue.waiting >= request->session_queue_max) {
		rc = err_set(e, ERR_RATELIMIT,
			     "session %s of %s already has %lld queued "
			     "runs",
			     quoted(row->session).text, row->agent,
			     (long long)queue.waiting);
	} else if (queue.waiting > 0 && !strcmp(row->policy, "interrupt")) {
		row->queue_pos = queue.first - 1;
		if (queue.next)
			snprintf(out->interrupt, sizeof out->interrupt, "%s",
				 queue.next);
	} else {
		row->queue_pos = queue.last + 1;
		row->is_next = queue.waiting == 0;
	}
	arena_fini(&a);
	return rc;
}

static int insert_run(struct sql *db, const struct run_request *request,
		      const struct run_insert_in *row, struct err *e)
{
	struct run_input_put_in input = {
		.run = row->id,
		.prompt = request->prompt,
		.options = request->options ? request->options : "{}",
	};
	struct run_transition made = {
		.id = row->id,
		.agent = row->agent,
		.session = row->session,
		.to = RUN_QUEUED,
		.reason = row->reason,
		.now = row->now,
	};

	if (sql_exec(db, Q_RUN_INSERT, row, e) < 0 ||
	    sql_exec(db, Q_RUN_INPUT_PUT, &input, e) < 0)
		return -1;
	return add_transition(db, &made, NULL, e);
}

int run_enqueue(struct sql *db, const struct run_request *request, int64_t now,
		struct run_made *out, struct err *e)
{
	struct id id = id_new(ID_RUN);
	char digest[HASH_HEX];
	struct run_insert_in row = {
#define COLUMN_SAME(name) .name = request->name,
#define COLUMN_OWN(name)
#define RUN_MEMBER(field, name, type, need, column, again, option) \
	COLUMN_##column(name)
#include "schema/control/run_request.def"
#undef RUN_MEMBER
		.id = id.text,
		.session = request->session ? request->session : id.text,
		.reason = run_reason_accepted,
		.queue_pos = OPT_NONE,
		.due_at = request->delay_ms > 0 ? now + request->delay_ms
						: OPT_NONE,
		.expires_at = request->queue_timeout_ms == OPT_NONE
				      ? OPT_NONE
				      : now + request->queue_timeout_ms,
		.policy = request->policy ? request->policy : "queue",
		.retry_of = request->retry_of,
		.command = request->command,
		.idem_digest = digest,
		.tags = request->tags ? request->tags : "[]",
		.submitted_by = request->by,
		.workspace = request->workspace ||
					     !run_workspace_is_new(request)
				     ? request->workspace
				     : id.text,
		.over_dir = request->over,
		.is_fresh = request->fresh,
		.is_ephemeral = request->ephemeral,
		.is_shared = request->share,
		.now = now,
	};
	struct arena a = {0};
	int known, rc;

	*out = (struct run_made){.id = id};
	if (check_ask(request, e))
		return -1;
	digest_of(request, digest);
	known = find_by_key(db, request, digest, out, e);
	if (known != 0)
		return known < 0 ? -1 : 0;
	rc = take_parent(db, request, &row.depth, &row.invocation, &a, e);
	if (rc == 0 && row.due_at == OPT_NONE)
		rc = enter_queue(db, request, &row, out, e);
	if (rc == 0)
		rc = insert_run(db, request, &row, e);
	out->is_new = rc == 0;
	arena_fini(&a);
	return rc;
}

/* --- claim ------------------------------------------------------------ */

void run_pick_begin(struct run_pick *p)
{
	p->priority = 101;
	p->open = false;
}

static void begin_round(struct run_pick *p)
{
	snprintf(p->began, sizeof p->began, "%s", p->agent);
	p->wrapped = p->took = false;
	p->open = true;
}

/* Starts a round of the next lower priority: 1, or 0 if there is none. */
static int open_round(struct sql *db, struct run_pick *p, struct err *e)
{
	struct run_top_priority_in in = {.below = p->priority};
	struct run_top_priority_row row;
	int found = sql_get(db, Q_RUN_TOP_PRIORITY, &in, &row, NULL, e);

	if (found != 1)
		return found;
	p->priority = row.priority;
	begin_round(p);
	return 1;
}

/* No run is left in this round; starts another one if a run was started. */
static void end_round(struct run_pick *p)
{
	snprintf(p->agent, sizeof p->agent, "%s", p->began);
	if (p->took)
		begin_round(p);
	else
		p->open = false;
}

int run_pick_next(struct sql *db, struct run_pick *p, struct run_next_row *out,
		  struct arena *a, struct err *e)
{
	for (;;) {
		int found = p->open ? 1 : open_round(db, p, e);
		struct run_next_in in = {p->priority, p->agent};

		if (found != 1)
			return found;
		found = sql_get(db, Q_RUN_NEXT, &in, out, a, e);
		if (found < 0)
			return -1;
		if (found == 0 && !p->wrapped) {
			p->wrapped = true;
			p->agent[0] = '\0';
		} else if (found == 0 ||
			   (p->wrapped && strcmp(out->agent, p->began) > 0)) {
			end_round(p);
		} else {
			snprintf(p->agent, sizeof p->agent, "%s", out->agent);
			return 1;
		}
	}
}

/* --- transitions ------------------------------------------------------ */

static int after_move(struct sql *db, const struct run_transition *m,
		      struct err *e)
{
	struct run_close_in close = {m->id, m->now};
	struct run_promote_in queue = {m->agent, m->session};
	struct command_expire_in expire = {m->id, run_state_name(m->to),
					   m->now};
	struct approval_withdraw_in withdraw = {m->id, m->now};
	struct run_wait_again_in wait = {m->id, m->due_at};
	struct command_reset_in reset = {m->id, m->now};
	struct run_unblock_after_in leave = {m->id};
	struct inbound_done_in answered = {m->id};

	if (m->to == RUN_QUEUED)
		return sql_exec(db, Q_RUN_WAIT_AGAIN, &wait, e) < 0 ||
				       sql_exec(db, Q_COMMAND_RESET, &reset,
						e) < 0 ||
				       sql_exec(db, Q_RUN_UNBLOCK_AFTER, &leave,
						e) < 0
			       ? -1
			       : 0;
	if (!run_state_is_over(m->to))
		return 0;
	if (sql_exec(db, Q_RUN_CLOSE, &close, e) < 0 ||
	    sql_exec(db, Q_RUN_PROMOTE, &queue, e) < 0 ||
	    sql_exec(db, Q_RUN_UNBLOCK_AFTER, &leave, e) < 0 ||
	    sql_exec(db, Q_COMMAND_EXPIRE, &expire, e) < 0 ||
	    sql_exec(db, Q_APPROVAL_WITHDRAW, &withdraw, e) < 0 ||
	    sql_exec(db, Q_INBOUND_DONE, &answered, e) < 0)
		return -1;
	return 0;
}

int run_change_state(struct sql *db, const struct run_transition *m,
		     struct err *e)
{
	struct run_set_state_in set = {
		.id = m->id,
		.from_state = run_state_name(m->from),
		.to_state = run_state_name(m->to),
		.pending_state = run_pending_name(m->pending_state),
		.reason = m->reason,
		.detail = m->detail,
	};
	int n = sql_exec(db, Q_RUN_SET_STATE, &set, e);

	if (n < 0)
		return -1;
	if (n == 0)
		return err_set(e, ERR_CONFLICT, "run %s is no longer %s", m->id,
			       set.from_state);
	if (m->from != m->to && add_transition(db, m, set.from_state, e))
		return -1;
	return after_move(db, m, e);
}

/* A delayed run enters the queue of its session when it is due. */
static int join_queue(struct sql *db, const struct run_due_row *row,
		      int64_t *place, struct arena *a, struct err *e)
{
	struct run_queue_state_in key = {row->agent, row->session};
	struct run_queue_state_row queue;

	if (row->queue_pos != OPT_NONE)
		return 0;
	if (sql_get(db, Q_RUN_QUEUE_STATE, &key, &queue, a, e) < 0)
		return -1;
	*place = queue.last + 1;
	return 0;
}

int run_wake(struct sql *db, int64_t now, struct arena *a, struct err *e)
{
	struct run_due_in due = {now};
	struct run_due_row *rows;
	int n = sql_collect(db, Q_RUN_DUE, &due, 100, &rows, a, e);

	for (int i = 0; i < n; i++) {
		struct run_make_ready_in ready = {rows[i].id,
						  rows[i].queue_pos};
		struct run_promote_in queue = {rows[i].agent, rows[i].session};

		if (join_queue(db, &rows[i], &ready.queue_pos, a, e))
			return -1;
		if (sql_exec(db, Q_RUN_MAKE_READY, &ready, e) < 0 ||
		    sql_exec(db, Q_RUN_PROMOTE, &queue, e) < 0)
			return -1;
	}
	return n;
}
