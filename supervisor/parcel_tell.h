#ifndef SUPERVISOR_PARCEL_TELL_H
#define SUPERVISOR_PARCEL_TELL_H

#include "supervisor/parcel.h"

/* What followers of /v1/events hear of a delivery before its first outcome; the
 * outcomes themselves are told where the row moves (schema/deliveries.h). Called
 * in the step. */
int parcel_tell_new(struct sup *s, const struct delivery_new *d, const char *id,
		    int64_t now, struct err *e);
/* One event for all claims of a commit: there may be thousands a second. */
int parcels_tell_claimed(struct channel *c, const struct delivery_taken *rows,
			 int n, int64_t now, struct err *e);

#endif
