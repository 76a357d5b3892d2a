#ifndef WORKER_RUN_COMMANDS_H
#define WORKER_RUN_COMMANDS_H

#include "ipc/end_reason.h"
#include "ipc/message.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/db/sql.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What others want of a run, between the threads that hear it (the link, a
 * signal) and the one that works. Whoever wants the run to end says so once,
 * with a reason; the first reason stays. The working thread polls commands_fd,
 * and looks.
 */
struct commands {
	pthread_mutex_t lock;
	int fd; /* eventfd; readable when there is something to look at */
	struct commands_note *notes;
	bool ending;
	enum reason reason;
	char why[256];
	int64_t grace_ms; /* of the cancel, or -1 */
	struct sql *db;
};

int commands_init(struct commands *c, struct err *e);
void commands_fini(struct commands *c);
void commands_reset(struct commands *c); /* no request is left */

/* From any thread. A cancel or stop makes the run end; anything else waits for
 * commands_next. */
void commands_command(struct commands *c, const struct msg *m);
void commands_end(struct commands *c, enum reason reason, const char *why);

/* The database whose work the end of the run shall interrupt; NULL: none. Once
 * this returns, nothing interrupts the one that was guarded before. */
void commands_guard(struct commands *c, struct sql *db);

bool commands_ending(struct commands *c);

/* Why; `why` has room for COMMANDS_WHY bytes. Only when it is ending. */
#define COMMANDS_WHY 256
enum reason commands_reason(struct commands *c, char *why, int64_t *grace_ms);

/* Takes the oldest command that waits, its texts in a: 1, or 0 for none. */
int commands_next(struct commands *c, struct arena *a, struct msg *m);

/* Makes commands_fd quiet until something new comes; then look at everything. */
void commands_quiet(struct commands *c);

#endif
