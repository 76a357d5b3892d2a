#ifndef SCHEMA_CONTROL_CHANNEL_CHANNEL_DELETE_H
#define SCHEMA_CONTROL_CHANNEL_CHANNEL_DELETE_H

#include "lib/base/id.h"
#include "lib/db/sql.h"

#include <stdbool.h>

/*
 * A channel is removed with what came in on it and its conversations; what was
 * to go out stays, and keeps its address instead of the conversation. What waits
 * is dead, and what nobody knows waits for a person: another channel of that name
 * sends none of it unasked. These may be very many rows, so it is done a few at a
 * time and inside the caller's transactions: the channel is marked first
 * (disabled, its state is `deleting`), and its row goes last. Whoever dies in
 * between, the mark says that there is something left to do.
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
