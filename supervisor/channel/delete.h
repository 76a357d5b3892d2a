#ifndef SUPERVISOR_CHANNEL_DELETE_H
#define SUPERVISOR_CHANNEL_DELETE_H

#include "supervisor/core/supervisor.h"

/*
 * Deletion of channels (schema/control/channel/channel_delete.h). A small
 * channel is deleted in the transaction of the command. A channel with many
 * rows is deleted in batches of a few milliseconds with pauses between them. A
 * deletion that a former skepd began is continued.
 */
int channel_delete_open(struct supervisor *s, struct err *e);
void channel_delete_close(struct supervisor *s);

#endif
