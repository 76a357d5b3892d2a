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
	char conversation[ID_SIZE]; /* whose deliveries are looked at … */
	int64_t seq;  /* … up to this one; all zero: from the start */
	int64_t held; /* unknown ones are seen to up to this one */
	bool waits;   /* for what is on its way: come again later */
	bool had_log; /* it is gone, and was a plugin */
};

struct channel_row;

/* Marks it. ERR_NOTFOUND. */
int channel_delete_begin(struct sql *db, const char *name, const char *by,
			 struct err *e);

/* Without a skepd: nobody is left to say what became of what was on its way. */
int channel_delete_lost(struct sql *db, const char *name, struct err *e);

/* Up to about `count` rows of one that is marked: how many; 0: it is gone; -1. */
int channel_delete_step(struct channel_deletion *r, struct sql *db,
			const char *name, int64_t count, struct err *e);

/* ERR_BUSY if it is being removed. */
int channel_check_not_deleting(const struct channel_row *row, struct err *e);

#endif
