#ifndef SUPERVISOR_CHANNEL_DELIVERY_STUCK_H
#define SUPERVISOR_CHANNEL_DELIVERY_STUCK_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct delivery_row;

/*
 * Stuck deliveries: rows that the clean-up could not change. Each is reported
 * and tried again after a delay that grows. Other rows do not wait for it. The
 * list is in memory only; a new skepd tries every row at once.
 */
struct stuck_deliveries {
	struct stuck_delivery *rows;
	int n;
};

/* Whether it is too early to try the row again; now_ms is uv_now. */
bool stuck_waits(const struct stuck_deliveries *k, int64_t seq, int64_t now_ms);

/* The row could not be changed: reports it, and delays the next try. */
void stuck_add(struct stuck_deliveries *k, const struct delivery_row *row,
	       int64_t now_ms, const struct err *why);

/* The row was changed. */
void stuck_remove(struct stuck_deliveries *k, int64_t seq);

void stuck_fini(struct stuck_deliveries *k);

#endif
