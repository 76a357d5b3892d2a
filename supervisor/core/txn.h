#ifndef SUPERVISOR_CORE_TXN_H
#define SUPERVISOR_CORE_TXN_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/db/sql.h"

#include <stdbool.h>
#include <uv.h>

/*
 * One step is all that happens between two polls of the loop. Handlers change
 * rows inside it, and say what shall then be seen outside: a reply, a message,
 * a spawn. The step commits once, to the disk (synchronous=FULL), and only then
 * lets the effects go: nothing is ever seen that a crash could take back, and
 * however much happened in the turn waits for the disk once.
 *
 * If the commit fails, every effect is told so instead, and then `failed` is
 * called: what is in memory may be ahead of the rows and has to be read again.
 */
typedef void txn_effect(void *arg, const struct err *failed);

struct txn_calls {
	void *arg;
	void (*before)(void *arg); /* a commit; may make further changes */
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
	struct txn_calls calls;
	int64_t commits;
	bool refused; /* see txn_refuse */
	struct err why;
};

void txn_init(struct txn *s, uv_loop_t *loop, struct sql *db,
	      struct txn_calls calls);
void txn_close(struct txn *s); /* commits what is open; stops the handles */

/* No change is begun any more, for this reason; NULL: they are again. */
void txn_refuse(struct txn *s, const struct err *why);

/* Before the first change of a handler. Again in the same step: nothing. */
int txn_begin(struct txn *s, struct err *e);

/* Keeps effect(arg) for after the commit. Without a change, it is called at the
 * end of the transaction all the same. Effects are called in order. */
void txn_on_commit(struct txn *s, txn_effect *effect, void *arg);

/* Memory that lives until the effects have been called. */
void *txn_alloc(struct txn *s, size_t n);
char *txn_text(struct txn *s, const char *text);

/* Commits, lets effects go, and again for what these changed. */
void txn_end(struct txn *s);

#endif
