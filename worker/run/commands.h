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
 * Commands to a run, between the threads that receive them (IPC, signals) and
 * the main thread. A request to end the run has a reason; the first one is
 * kept. The main thread polls commands_fd.
 */
struct commands {
	pthread_mutex_t lock;
	int fd; /* eventfd; readable if there is a command */
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

/* From any thread. A cancel or stop requests the end of the run; other commands
 * wait for commands_next. */
void commands_command(struct commands *c, const struct msg *m);
void commands_end(struct commands *c, enum reason reason, const char *why);

/* The database whose current operation the end of the run interrupts; NULL:
 * none. After this returns, the previous one is not interrupted. */
void commands_guard(struct commands *c, struct sql *db);

bool commands_ending(struct commands *c);

/* The reason; `why` has room for COMMANDS_WHY bytes. Only if the end was
 * requested. */
#define COMMANDS_WHY 256
enum reason commands_reason(struct commands *c, char *why, int64_t *grace_ms);

/* Removes the oldest queued command, with its texts in a: 1, or 0 for none. */
int commands_next(struct commands *c, struct arena *a, struct msg *m);

/* Resets commands_fd until something new arrives; then check everything. */
void commands_quiet(struct commands *c);

#endif
