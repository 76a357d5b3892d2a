#ifndef SCHEMA_WATCHDOG_RECORD_H
#define SCHEMA_WATCHDOG_RECORD_H

#include "lib/base/err.h"
#include "lib/os/process.h"
#include "schema/home.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The record of skep-watchdog, the process that restarts skepd, in
 * run/watchdog. The watchdog writes it; skepd, `skep status` and doctor read
 * it. An orderly stop removes it. A leftover record is from a watchdog that was
 * killed or gave up.
 */
struct watchdog_record {
	struct process_identity watchdog;
	bool alive;       /* set by watchdog_read */
	int64_t restarts; /* since `skep up` */
	int64_t ended_at; /* time of the last unexpected exit of skepd; 0:
			   * none */
	int64_t next_at;  /* time of the next start; 0: skepd runs, or none is
			   * due */
	char cause[160];  /* cause of that exit: "signal 11 (Segmentation
			   * fault)" */
};

/* False if there is no readable record. */
bool watchdog_read(const struct home *h, struct watchdog_record *out);
int watchdog_write(const struct home *h, const struct watchdog_record *r,
		   struct err *e);
void watchdog_remove(const struct home *h);

#endif
