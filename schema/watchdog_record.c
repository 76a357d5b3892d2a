#include "schema/watchdog_record.h"

#include "lib/json/json.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX 4096

#define RECORD(F, S)        \
	F(S, i64, pid)      \
	F(S, i64, started)  \
	F(S, text, boot)    \
	F(S, i64, restarts) \
	F(S, i64, ended_at) \
	F(S, i64, next_at)  \
	F(S, text, cause)
SHAPE_DECLARE(stored, RECORD);
SHAPE_DEFINE(stored, RECORD);

bool watchdog_read(const struct home *h, struct watchdog_record *out)
{
	struct buf b = BUF_MAX(RECORD_MAX);
	struct home_path path = home_path(h, HOME_WATCHDOG);
	struct err ignored;
	cJSON *v = NULL;

	if (file_exists(path.text) && !file_read(path.text, &b, &ignored))
		v = json_parse_object(path.text, b.p, b.n, &ignored);
	buf_fini(&b);
	if (!v)
		return false;
	*out = (struct watchdog_record){
		.watchdog = {.pid = json_i64(v, "pid", 0),
			     .start_ticks = json_i64(v, "started", 0)},
		.restarts = json_i64(v, "restarts", 0),
		.ended_at = json_i64(v, "ended_at", 0),
		.next_at = json_i64(v, "next_at", 0),
	};
	snprintf(out->watchdog.boot_id, sizeof out->watchdog.boot_id, "%s",
		 json_text(v, "boot", ""));
	snprintf(out->cause, sizeof out->cause, "%s",
		 json_text(v, "cause", ""));
	out->alive = process_is_alive(&out->watchdog);
	cJSON_Delete(v);
	return true;
}

int watchdog_write(const struct home *h, const struct watchdog_record *r,
		   struct err *e)
{
	struct buf b = BUF_MAX(RECORD_MAX);
	struct stored row = {
		.pid = r->watchdog.pid,
		.started = r->watchdog.start_ticks,
		.boot = r->watchdog.boot_id,
		.restarts = r->restarts,
		.ended_at = r->ended_at,
		.next_at = r->next_at,
		.cause = r->cause,
	};
	int rc;

	json_add_shape(&b, &stored_shape, &row);
	buf_addc(&b, '\n');
	rc = atomic_file_write(home_path(h, HOME_WATCHDOG).text, b.p, b.n, 0600,
			       e);
	buf_fini(&b);
	return rc;
}

void watchdog_remove(const struct home *h)
{
	(void)unlink(home_path(h, HOME_WATCHDOG).text);
}
