#ifndef SCHEMA_CONTROL_CHANNEL_CHANNEL_DELETE_H
#define SCHEMA_CONTROL_CHANNEL_CHANNEL_DELETE_H

#include "lib/base/id.h"
#include "lib/db/sql.h"

#include <stdbool.h>

/*
 * Deletes a channel with its inbound messages and conversations. Its deliveries
 * stay and keep their address instead of the conversation: pending ones become
 * dead, and unknown ones need a review, so that a new channel of the same name
 * sends none of them. There may be very many rows. They are therefore changed in
 * small batches inside the caller's transactions: first the channel is marked
 * (disabled, with the state `deleting`), and its own row is deleted last. If
 * skepd dies in between, the mark shows that the deletion is not complete.
 */
#define CHANNEL_DELETING "deleting"

struct channel_deletion {
	char conversation[ID_SIZE]; /* the conversation whose deliveries are
				     * handled … */
	int64_t seq;  /* … up to this one; all zero: from the start */
	int64_t held; /* unknown deliveries are handled up to this one */
	bool waits;   /* deliveries are in flight: try again later */
	bool had_log; /* the channel was deleted, and was a plugin */
};

struct channel_row;

/* Marks the channel. ERR_NOTFOUND. */
int channel_delete_begin(struct sql *db, const char *name, const char *by,
			 struct err *e);

/* For use without a skepd, when no process can report the outcome of deliveries
 * in flight. */
int channel_delete_lost(struct sql *db, const char *name, struct err *e);

/* Deletes up to about `count` rows of a marked channel. Returns their number, 0
 * if the channel is deleted, or -1. */
int channel_delete_step(struct channel_deletion *r, struct sql *db,
			const char *name, int64_t count, struct err *e);

/* ERR_BUSY if it is being deleted. */
int channel_check_not_deleting(const struct channel_row *row, struct err *e);

#endif
