#include "bench/load/run_load.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SAMPLE 50 /* workers that are measured */

static int write_config(const char *dir, int max, struct err *e)
{
	struct buf text = BUF_MAX(1024);
	char path[700];
	int rc;

	snprintf(path, sizeof path, "%s/home", dir);
	if (file_make_dir(path, 0700, e))
		return -1;
	snprintf(path, sizeof path, "%s/home/skep.json", dir);
	json_begin_object(&text);
	json_put_raw(&text, "log", "{\"level\":\"warn\"}");
	json_put_object(&text, "run");
	json_put_int(&text, "max", max);
	json_put_int(&text, "per_agent", max);
	json_put_text(&text, "start_timeout", "120s");
	json_put_text(&text, "grace", "300ms");
	json_end_object(&text);
	json_end_object(&text);
	rc = atomic_file_write(path, text.p, text.n, 0600, e);
	buf_fini(&text);
	return rc;
}

static int make_agents(struct run_load *f, struct err *e)
{
	for (int i = 0; i < f->agents; i++) {
		char path[64];

		snprintf(path, sizeof path, "/v1/agents/a%d", i);
		if (test_daemon_call(&f->daemon, "PUT", path,
				     "{\"driver\":\"script\"}", NULL, e))
			return -1;
	}
	return 0;
}

int run_load_start(struct run_load *f, const char *dir, int agents, int max,
		   struct err *e)
{
	char path[700];

	*f = (struct run_load){.agents = agents};
	if (write_config(dir, max, e) || test_daemon_start(&f->daemon, dir, e))
		return -1;
	snprintf(path, sizeof path, "%s/state/skep.sqlite", f->daemon.home);
	if (make_agents(f, e) ||
	    sql_open(&f->control, path, NULL, SQL_READONLY, e)) {
		run_load_stop(f);
		return -1;
	}
	return 0;
}

void run_load_stop(struct run_load *f)
{
	sql_close(f->control);
	f->control = NULL;
	test_daemon_stop(&f->daemon);
}

int run_load_submit(struct run_load *f, int i, const char *script, char id[64],
		    struct err *e)
{
	struct buf body = BUF_MAX(1 << 16), answer = BUF_MAX(1 << 16);
	char agent[24], session[24];
	cJSON *row = NULL;

	snprintf(agent, sizeof agent, "a%d", i % f->agents);
	snprintf(session, sizeof session, "s%d", i);
	json_begin_object(&body);
	json_put_text(&body, "agent", agent);
	json_put_text(&body, "session", session);
	json_put_text(&body, "prompt", script);
	json_end_object(&body);
	if (test_daemon_call(&f->daemon, "POST", "/v1/runs", body.p, &answer,
			     e) == 0)
		row = json_parse_object("the run", answer.p, answer.n, e);
	if (row && id)
		snprintf(id, 64, "%s", json_text(row, "id", ""));
	cJSON_Delete(row);
	buf_fini(&body);
	buf_fini(&answer);
	return row ? 0 : -1;
}

int run_load_agent_open(struct run_load *f, int i, struct sql **db,
			struct err *e)
{
	char path[700];

	snprintf(path, sizeof path, "%s/agents/a%d/agent.sqlite",
		 f->daemon.home, i % f->agents);
	return sql_open(db, path, NULL, SQL_READONLY, e);
}

int run_load_number(struct run_load *f, int64_t *out, struct err *e,
		    const char *fmt, ...)
{
	char sql[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(sql, sizeof sql, fmt, ap);
	va_end(ap);
	return sql_script_i64(f->control, sql, out, e);
}

int run_load_until(struct run_load *f, struct bench_run *r, const char *sql,
		   int64_t want, double seconds, int64_t *got, struct err *e)
{
	int64_t end = clock_mono_ns() + (int64_t)(seconds * 1e9);
	struct timespec pause = {0, 20000000};

	do {
		if (run_load_number(f, got, e, "%s", sql))
			return -1;
		if (*got >= want)
			return 1;
		bench_progress(r, "workers", (double)*got, (double)want);
		nanosleep(&pause, NULL);
	} while (clock_mono_ns() < end && !bench_stopped(r));
	return 0;
}

static int64_t pss_of(int64_t pid)
{
	struct buf b = BUF_MAX(1 << 16);
	struct err ignored;
	char path[64];
	const char *at;
	int64_t kb = 0;

	snprintf(path, sizeof path, "/proc/%" PRId64 "/smaps_rollup", pid);
	if (file_read(path, &b, &ignored) == 0 && (at = strstr(b.p, "\nPss:")))
		kb = strtoll(at + 5, NULL, 10);
	buf_fini(&b);
	return kb * 1024;
}

int64_t run_load_worker_pss(struct run_load *f, struct err *e)
{
	int64_t sum = 0, n = 0, pid = 0;

	for (int i = 0; i < SAMPLE; i++) {
		int64_t pss;

		if (run_load_number(
			    f, &pid, e,
			    "SELECT coalesce(min(pid), 0) FROM run WHERE "
			    "state = 'running' AND pid > %" PRId64,
			    pid))
			return -1;
		pss = pid ? pss_of(pid) : 0;
		if (!pid)
			break;
		sum += pss;
		n += pss > 0;
	}
	return n ? sum / n : 0;
}
