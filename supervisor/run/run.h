#ifndef SUPERVISOR_RUN_RUN_H
#define SUPERVISOR_RUN_RUN_H

#include "supervisor/core/supervisor.h"

/*
 * Runs as the composition root sees them. The commands on runs are in
 * supervisor/core/commands.h.
 */
void runs_init(struct supervisor *s);

/* Reads the active runs and adopts their workers. */
int runs_recover(struct supervisor *s, struct err *e);
/* Opens the socket of the workers. */
int runs_listen(struct supervisor *s, struct err *e);

/* terminate.c: reports of the spawner about workers. on_spawn_event takes
 * pidfd. */
void on_spawn_event(void *arg, const struct spawn_event *t, int pidfd);
void on_spawner_lost(void *arg);

void runs_tick(struct supervisor *s);
void runs_before_commit(struct supervisor *s); /* starts queued runs */
/* After a failed commit: reads the runs from their rows again, a moment
 * later. */
void runs_reload(struct supervisor *s);

bool runs_are_over(const struct supervisor *s); /* and no worker is idle */
int64_t runs_count(const struct supervisor *s); /* number of active runs */
/* Hints are not in the rows: without this, the number of events of an active run
 * would go back when the next supervisor starts. In a transaction. */
void runs_save_last_seq(struct supervisor *s);
void runs_stop_all(struct supervisor *s, const char *by);
void runs_continue(struct supervisor *s); /* after a stop was taken back */

/* Call these in this order. Workers continue. */
void runs_close(struct supervisor *s);
void runs_close_timers(struct supervisor *s); /* after the last transaction */
void runs_free(struct supervisor *s);         /* after the loop has ended */

#endif
