#ifndef SUPERVISOR_CHANNEL_DELETE_H
#define SUPERVISOR_CHANNEL_DELETE_H

#include "supervisor/core/supervisor.h"

/*
 * Channels that are being removed (schema/control/channel/channel_delete.h). A
 * small one goes in the step of the verb; one with many rows in slices of a few
 * milliseconds with pauses between them, so that nobody waits. What another
 * skepd has left is gone on with.
 */
int channel_delete_open(struct supervisor *s, struct err *e);
void channel_delete_close(struct supervisor *s);

#endif
