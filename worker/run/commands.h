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
 * with a reason; the first reason stays. The working thread polls control_fd,
 * and looks.
 */
struct control {
	pthread_mutex_t lock;
	int fd; /* eventfd; readable when there is something to look at */
	struct control_note *notes;
	bool ending;
	enum reason reason;
	char why[256];
	int64_t grace_ms; /* of the cancel, or -1 */
	struct sql *db;
};

int control_init(struct control *c, struct err *e);
void control_fini(struct control *c);
void control_reset(struct control *c); /* nothing is wanted any more */

/* From any thread. A cancel or stop makes the run end; anything else waits for
 * control_next. */
void control_command(struct control *c, const struct msg *m);
void control_end(struct control *c, enum reason reason, const char *why);

/* The database whose work the end of the run shall interrupt; NULL: none. Once
 * this returns, nothing interrupts the one that was guarded before. */
void control_guard(struct control *c, struct sql *db);

bool control_ending(struct control *c);

/* Why; `why` has room for CONTROL_WHY bytes. Only when it is ending. */
#define CONTROL_WHY 256
enum reason control_reason(struct control *c, char *why, int64_t *grace_ms);

/* Takes the oldest command that waits, its texts in a: 1, or 0 for none. */
int control_next(struct control *c, struct arena *a, struct msg *m);

/* Makes control_fd quiet until something new comes; then look at everything. */
void control_quiet(struct control *c);

#endif
