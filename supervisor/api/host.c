/* Health, stop, metrics and the OpenAPI document. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/http/openapi.h"
#include "lib/os/file.h"
#include "schema/control/budget.h"
#include "schema/control/stats.h"
#include "supervisor/api/metrics.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/core/full_disk.h"

#define PAGE 200

const struct metric api_metric_table[API_METRICS] = {
#define METRIC(id, kind, name, label, help) \
	[API_M_##id] = {name, help, label, METRIC_##kind},
#include "supervisor/api/metrics.def"
#undef METRIC
};

static int read_health(struct api_request *q, struct buf *out, struct err *e)
{
	struct supervisor_status s = {0};
	struct disk disk = disk_status(supervisor_home(q->api->sup));
	struct buf pragmas = BUF_MAX(4096);
	struct api_health h;
	int rc = stats_add_pragmas(supervisor_db(q->api->sup), &pragmas, e);

	supervisor_status_get(q->api->sup, &s);
	h = (struct api_health){.version = s.version,
				.pid = s.pid,
				.epoch = s.epoch,
				.started_at = s.started_at,
				.active = s.active,
				.idle = s.idle,
				.queued = s.queued,
				.workers_connected = s.workers_connected,
				.preforked = s.preforked,
				.stopping = s.stopping,
				.listen = s.listen,
				.read_only = s.read_only,
				.disk = disk.state,
				.disk_free = disk.free,
				.restarts = s.restarts,
				.restarted_at = s.restarted_at,
				.restart_cause = s.restart_cause,
				.lost = *s.lost.text ? s.lost.text : NULL,
				.pragmas = pragmas.p};
	if (rc == 0)
		json_add_shape(out, &api_health_shape, &h);
	buf_fini(&pragmas);
	return rc;
}

void route_health(struct api_request *q)
{
	request_read(q, read_health);
}

void route_stop(struct api_request *q, const struct stop_body *body)
{
	struct err e = {0};
	int rc = 0;

	if (strcmp(body->intent, "restart") == 0)
		rc = supervisor_may_restart(q->api->sup, &e);
	if (!rc)
		rc = supervisor_stop(q->api->sup, body->intent, q->by,
				     request_done(q), &e);
	request_command(q, rc, &e);
}

void route_openapi(struct api_request *q)
{
	struct buf b = BUF_MAX(1 << 20);

	openapi_write(&b, &api_routes, "skep", SKEP_VERSION);
	http_reply_json(q->reply, 200, b.p, b.n);
	buf_fini(&b);
	request_free(q);
}

/* Counters follow the host log, so that they count only committed changes. */
static void count_event(struct metrics *m,
			const struct host_event_states_row *row)
{
	static const struct {
		const char *kind;
		size_t metric;
	} counted[] = {
		{"run", API_M_TRANSITIONS},     {"approval", API_M_APPROVALS},
		{"delivery", API_M_DELIVERIES}, {"inbound", API_M_INBOUND},
		{"schedule", API_M_SLOTS},
	};

	for (size_t i = 0; row->state && i < sizeof counted / sizeof *counted;
	     i++)
		if (!strcmp(row->kind, counted[i].kind))
			metrics_add(m, counted[i].metric, row->state, 1);
}

static void count_new_events(void *arg, const struct err *failed)
{
	struct api_counts *c = arg;
	struct sql *db = supervisor_db(c->sup);
	struct err e = {0};
	int n = PAGE;

	c->poll_pending = false;
	while (!failed && n == PAGE) {
		struct host_event_states_in in = {c->seq, PAGE};
		struct sql_rows it = sql_rows(db, Q_HOST_EVENT_STATES, &in);
		struct host_event_states_row row;

		for (n = 0; sql_next(&it, &row); n++) {
			count_event(c->metrics, &row);
			c->seq = row.seq;
		}
		if (sql_end(&it, &e))
			return;
	}
}

static void on_change(void *arg)
{
	struct api_counts *c = arg;

	if (!c->poll_pending)
		supervisor_after_commit(c->sup, count_new_events, c);
	c->poll_pending = true;
}

int api_counts_open(struct api_counts *c, struct supervisor *sup, struct err *e)
{
	struct host_event_bounds_row bounds;

	if (sql_get(supervisor_db(sup), Q_HOST_EVENT_BOUNDS, NULL, &bounds,
		    NULL, e) < 0)
		return -1;
	*c = (struct api_counts){.sup = sup, .seq = bounds.last};
	c->metrics = metrics_new(api_metric_table, API_METRICS);
	c->watch = supervisor_watch(sup, NULL, on_change, c);
	return 0;
}

void api_counts_close(struct api_counts *c)
{
	supervisor_unwatch(c->watch);
	c->watch = NULL;
	metrics_free(c->metrics);
	c->metrics = NULL;
}

static int64_t resident_bytes(void)
{
	struct buf b = BUF_MAX(4096);
	struct err ignored;
	int64_t pages = 0;
	char *second;

	if (file_read("/proc/self/statm", &b, &ignored) == 0 &&
	    (second = strchr(b.p, ' ')))
		pages = strtoll(second, NULL, 10);
	buf_fini(&b);
	return pages * sysconf(_SC_PAGESIZE);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 3; /* ".", ".." and the directory itself */
}

static void set_metric(struct api *w, size_t id, int64_t value)
{
	metrics_set(w->counts.metrics, id, NULL, (double)value);
}

/* Subjects are in descending order of use: the first one counts. */
static void set_budget(void *arg, const struct budget_item *item)
{
	struct api *w = arg;
	double hard = item->hard > 0 ? (double)item->hard : 1;
	double ratio = (double)(item->used + item->reserved) / hard;

	if (w->budget_shown && strcmp(w->budget_shown, item->name) == 0)
		return;
	w->budget_shown = item->name;
	metrics_set(w->counts.metrics, API_M_BUDGETS, item->name, ratio);
}

/* Gauges are read on request. */
static int read_metrics(struct api_request *q, struct buf *out, struct err *e)
{
	struct api *w = q->api;
	struct supervisor_status s = {0};

	supervisor_status_get(w->sup, &s);
	if (budget_items(supervisor_db(w->sup), NULL, clock_now(), set_budget,
			 w, e))
		return -1;
	set_metric(w, API_M_ACTIVE, s.active);
	set_metric(w, API_M_QUEUED, s.queued);
	set_metric(w, API_M_WORKERS, s.workers_connected);
	set_metric(w, API_M_PREFORKED, s.preforked);
	set_metric(w, API_M_FOLLOWERS, w->nsubscribers);
	set_metric(w, API_M_EPOCH, s.epoch);
	set_metric(w, API_M_STARTED, s.started_at / 1000);
	set_metric(w, API_M_MEMORY, resident_bytes());
	set_metric(w, API_M_FDS, open_fds());
	metrics_write(w->counts.metrics, out);
	metrics_write(http_server_metrics(w->server), out);
	http_reply_bytes(q->reply, 200, "text/plain; version=0.0.4", out->p,
			 out->n);
	q->reply = NULL;
	return 0;
}

void route_metrics(struct api_request *q)
{
	request_read(q, read_metrics);
}
