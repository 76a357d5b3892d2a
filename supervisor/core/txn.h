#ifndef SUPERVISOR_CORE_TXN_H
#define SUPERVISOR_CORE_TXN_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/db/sql.h"

#include <stdbool.h>
#include <uv.h>

/*
 * One transaction covers everything that happens between two polls of the loop.
 * Handlers change rows in it and register effects: a reply, a message, a spawn.
 * The transaction commits once, to the disk (synchronous=FULL), and only then
 * are the effects called. So no effect is visible that a crash could undo, and
 * all changes of the turn wait for the disk once.
 *
 * A command is a part of the transaction that can fail alone:
 *
 *   txn_try_begin(txn);
 *   return txn_try_end(txn, command(…, e), e);
 *
 * If it fails, its changes of rows are rolled back to a savepoint, its effects
 * are dropped, and its rollbacks (txn_on_rollback) are called. The other
 * commands of the turn are not affected.
 *
 * If the commit fails, all rollbacks are called, then every effect with the
 * error, and then `failed`: memory may be ahead of the rows and has to be read
 * again.
 */
typedef void txn_effect(void *arg, const struct err *failed);
typedef void txn_rollback(void *arg);

struct txn_calls {
	void *arg;
	/* called before each commit; may change rows */
	void (*before)(void *arg);
	txn_effect *failed;
};

struct txn {
	struct sql *db;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	bool open;
	struct arena arena;
	struct effect *first;
	struct effect **end;
	struct rollback *rollbacks; /* newest first */
	struct txn_try *command;    /* innermost command, or NULL */
	struct txn_calls calls;
	int64_t commits;
	bool refused; /* see txn_refuse */
	struct err why;
};

void txn_init(struct txn *s, uv_loop_t *loop, struct sql *db,
	      struct txn_calls calls);
void txn_close(struct txn *s); /* commits, and closes the handles */

/* Refuses all changes with this error; NULL: accepts them again. */
void txn_refuse(struct txn *s, const struct err *why);

/* Starts the transaction, if it is not open. Call it before the first change of
 * a handler or command. */
int txn_begin(struct txn *s, struct err *e);

/* Enclose a command; they nest. txn_try_end returns rc, or -1 if the database
 * failed. A command that changes no row costs nothing. */
void txn_try_begin(struct txn *s);
int txn_try_end(struct txn *s, int rc, struct err *e);

/* Whether it is open and can be committed: then a command that failed has
 * undone only its own changes. */
bool txn_can_commit(const struct txn *s);

/* Calls effect(arg) after the commit. If no row was changed, it is called at
 * the end of the turn anyway. Effects are called in order. */
void txn_on_commit(struct txn *s, txn_effect *effect, void *arg);

/* Calls undo(arg) if this command or the whole transaction is rolled back, to
 * undo changes of memory. The newest is called first. */
void txn_on_rollback(struct txn *s, txn_rollback *undo, void *arg);

/* Memory that is valid until the effects have been called. */
void *txn_alloc(struct txn *s, size_t n);
char *txn_text(struct txn *s, const char *text);

/* Commits and calls the effects, and repeats this for the changes that they
 * made. */
void txn_end(struct txn *s);

#endif
