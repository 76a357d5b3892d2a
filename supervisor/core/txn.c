#include "supervisor/core/txn.h"

#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/db/savepoint.h"

#include <assert.h>

struct effect {
	txn_effect *call;
	void *arg;
	struct effect *next;
};

struct rollback {
	txn_rollback *undo;
	void *arg;
	struct rollback *next;
};

struct txn_try {
	struct txn_try *outer;
	bool open; /* has a savepoint */
	struct sql_savepoint savepoint;
	struct effect **effects; /* end of the list before the command */
	struct rollback *rollbacks;
};

static void on_prepare(uv_prepare_t *h)
{
	txn_end(h->data);
}

static void on_check(uv_check_t *h)
{
	txn_end(h->data);
}

void txn_init(struct txn *s, uv_loop_t *loop, struct sql *db,
	      struct txn_calls calls)
{
	*s = (struct txn){.db = db, .calls = calls};
	s->end = &s->first;
	uv_prepare_init(loop, &s->before_poll);
	uv_check_init(loop, &s->after_poll);
	s->before_poll.data = s->after_poll.data = s;
	uv_prepare_start(&s->before_poll, on_prepare);
	uv_check_start(&s->after_poll, on_check);
	uv_unref((uv_handle_t *)&s->before_poll);
	uv_unref((uv_handle_t *)&s->after_poll);
}

void txn_close(struct txn *s)
{
	txn_end(s);
	uv_close((uv_handle_t *)&s->before_poll, NULL);
	uv_close((uv_handle_t *)&s->after_poll, NULL);
	arena_fini(&s->arena);
}

void txn_refuse(struct txn *s, const struct err *why)
{
	s->refused = why != NULL;
	if (why)
		s->why = *why;
}

static int begin(struct txn *s, struct err *e)
{
	if (s->refused) {
		*e = s->why;
		return -1;
	}
	if (sql_enter(s->db, e))
		return -1;
	s->open = true;
	return 0;
}

static struct txn_try *outermost_without_savepoint(struct txn *s)
{
	struct txn_try *found = NULL;

	for (struct txn_try *v = s->command; v && !v->open; v = v->outer)
		found = v;
	return found;
}

int txn_begin(struct txn *s, struct err *e)
{
	struct txn_try *v;

	if (!s->open && begin(s, e))
		return -1;
	while ((v = outermost_without_savepoint(s))) {
		if (sql_savepoint_begin(s->db, &v->savepoint, e))
			return -1;
		v->open = true;
	}
	return 0;
}

void txn_try_begin(struct txn *s)
{
	struct txn_try *v = arena_alloc(&s->arena, sizeof *v);

	*v = (struct txn_try){.outer = s->command,
			      .effects = s->end,
			      .rollbacks = s->rollbacks};
	s->command = v;
}

/* Calls the rollbacks registered after `before`, newest first. */
static void call_rollbacks(struct txn *s, struct rollback *before)
{
	while (s->rollbacks != before) {
		struct rollback *r = s->rollbacks;

		s->rollbacks = r->next;
		r->undo(r->arg);
	}
}

int txn_try_end(struct txn *s, int rc, struct err *e)
{
	struct txn_try *v = s->command;

	s->command = v->outer;
	if (v->open)
		rc = sql_savepoint_end(s->db, &v->savepoint, rc, e);
	if (rc >= 0)
		return rc;
	*v->effects = NULL;
	s->end = v->effects;
	call_rollbacks(s, v->rollbacks);
	return rc;
}

bool txn_can_commit(const struct txn *s)
{
	return s->open && !sql_is_doomed(s->db);
}

void txn_on_commit(struct txn *s, txn_effect *effect, void *arg)
{
	struct effect *f = arena_alloc(&s->arena, sizeof *f);

	f->call = effect;
	f->arg = arg;
	*s->end = f;
	s->end = &f->next;
}

void txn_on_rollback(struct txn *s, txn_rollback *undo, void *arg)
{
	struct rollback *r = arena_alloc(&s->arena, sizeof *r);

	*r = (struct rollback){undo, arg, s->rollbacks};
	s->rollbacks = r;
}

void *txn_alloc(struct txn *s, size_t n)
{
	return arena_alloc(&s->arena, n);
}

char *txn_text(struct txn *s, const char *text)
{
	return arena_text(&s->arena, text);
}

/* Returns 0 if the changes are on disk. */
static int commit(struct txn *s, struct err *e)
{
	int rc;

	if (!s->open)
		return 0;
	s->open = false;
	s->commits++;
	rc = fault_point(FAULT_txn_before_commit, e);
	rc = sql_leave(s->db, rc, e);
	if (rc == 0)
		rc = fault_point(FAULT_txn_after_commit, e);
	return rc;
}

static void call_effects(struct txn *s, const struct err *failed)
{
	struct effect *f = s->first;

	s->first = NULL;
	s->end = &s->first;
	for (; f; f = f->next)
		f->call(f->arg, failed);
}

void txn_end(struct txn *s)
{
	struct err e;
	int rc;

	assert(!s->command);
	for (;;) {
		s->calls.before(s->calls.arg);
		if (!s->open && !s->first)
			break;
		rc = commit(s, &e);
		if (rc)
			log_error(LT("msg", "commit failed"),
				  LT("error", e.text));
		if (rc)
			call_rollbacks(s, NULL);
		s->rollbacks = NULL;
		call_effects(s, rc ? &e : NULL);
		if (rc)
			s->calls.failed(s->calls.arg, &e);
	}
	arena_reset(&s->arena);
}
