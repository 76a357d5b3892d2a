/* How fast the durable queue is emptied into a webhook, and the cost if each
 * change of state is a commit of its own. */
#include "bench/bench.h"
#include "bench/load/sink.h"
#include "bench/load/test_daemon.h"
#include "lib/base/clock.h"
#include "lib/os/atomic_file.h"
#include "schema/control/channel/channel.h"
#include "schema/control/channel/delivery.h"
#include "schema/control/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECRET     "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define FILL       5000 /* rows of one transaction that fills the queue */
#define GIVE_UP    INT64_C(20000000000)
#define WARM_UP_NS INT64_C(1000000000)
#define LINES      1024 /* conversations of ordered deliveries */
#define DEAD_ROWS  1024
#define INFLIGHT   64 /* default of a channel */
#define CASES \
	5 /* in rounds; the long queue is measured once, at the
			 * end */
#define TABLE        "the queue"
#define TARGET_TIMES 10

struct plan {
	const char *name;
	int64_t rows; /* pending at the start */
	int batch;
	int inflight;
	bool in_order;    /* in conversations, one after the other in each */
	bool beside_dead; /* a channel whose receiver never answers */
};

enum { RSS_MB, DELIVERED, CPU_US }; /* of bench_sample.more */

enum { OURS, ONE_EACH, IN_ORDER, ONE_EACH_IN_ORDER, BESIDE_DEAD, MANY };

/* --- a home with a full queue ----------------------------------------- */

static int put_file(const char *path, const char *text, struct err *e)
{
	return atomic_file_write(path, text, strlen(text), 0600, e);
}

static int put_channel(struct sql *db, const char *name, int port, int inflight,
		       struct err *e)
{
	struct buf text = BUF_MAX(1024);
	char url[64];
	cJSON *def;
	int rc;

	snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
	json_begin_object(&text);
	json_put_text(&text, "kind", "webhook");
	json_put_object(&text, "config");
	json_put_text(&text, "url", url);
	json_put_int(&text, "inflight", inflight);
	json_put_text(&text, "secret_file", "secret");
	json_end_object(&text);
	json_end_object(&text);
	def = json_parse_object("channel", text.p, text.n, e);
	buf_fini(&text);
	rc = def ? channels_put(db, name, def, "bench", e) : -1;
	cJSON_Delete(def);
	return rc;
}

static int add_rows(struct sql *db, const char *channel, bool in_order,
		    int64_t from, int64_t to, struct err *e)
{
	char line[32];
	struct delivery_new d = {
		.channel = channel,
		.ordering_key = in_order ? line : NULL,
		.body = "{\"text\":\"The quick brown fox jumps over the lazy "
			"dog, and does so once more.\"}",
		.max_age_ms = OPT_NONE,
	};
	struct id id;

	for (int64_t i = from; i < to; i++) {
		snprintf(line, sizeof line, "%s%" PRId64, channel, i % LINES);
		if (delivery_add(db, &d, clock_now(), &id, e) < 0)
			return -1;
	}
	return 0;
}

static int fill_outbox(struct bench_run *r, struct sql *db, const char *channel,
		       bool in_order, int64_t rows, struct err *e)
{
	for (int64_t i = 0; i < rows && !bench_stopped(r); i += FILL) {
		int64_t to = i + FILL < rows ? i + FILL : rows;

		bench_progress(r, "filling the queue", (double)i, (double)rows);
		if (sql_enter(db, e) ||
		    sql_leave(db, add_rows(db, channel, in_order, i, to, e), e))
			return -1;
	}
	return 0;
}

static int put_config(const struct home *home, int batch, struct err *e)
{
	struct home_path path = home_path(home, HOME_CONFIG);
	struct buf text = BUF_MAX(1024);
	int rc;

	json_begin_object(&text);
	json_put_raw(&text, "log", "{\"level\":\"error\"}");
	json_put_object(&text, "channel");
	json_put_int(&text, "batch", batch);
	json_end_object(&text);
	json_end_object(&text);
	rc = put_file(path.text, text.p, e);
	buf_fini(&text);
	return rc;
}

static int make_home(struct bench_run *r, const struct plan *p, const char *dir,
		     const struct sink *live, const struct sink *dead,
		     struct err *e)
{
	struct home home;
	struct home_path path;
	struct sql *db = NULL;
	char text[256];
	int rc;

	snprintf(text, sizeof text, "%s/home", dir);
	if (home_find(&home, text, e) || home_make(&home, e))
		return -1;
	if (put_config(&home, p->batch, e))
		return -1;
	path = home_join(&home, HOME_CREDENTIALS, "secret");
	if (put_file(path.text, SECRET "\n", e) ||
	    control_open(&db, &home, SQL_CREATE, e))
		return -1;
	rc = put_channel(db, "live", sink_port(live), p->inflight, e);
	if (rc == 0)
		rc = fill_outbox(r, db, "live", p->in_order, p->rows, e);
	if (rc == 0 && p->beside_dead)
		rc = put_channel(db, "dead", sink_port(dead), p->inflight, e) ||
				     fill_outbox(r, db, "dead", false,
						 DEAD_ROWS, e)
			     ? -1
			     : 0;
	sql_close(db);
	return rc;
}

/* --- measuring -------------------------------------------------------- */

static void nap(void)
{
	struct timespec t = {0, 1000000};

	nanosleep(&t, NULL);
}

/* After the first answer, connections are opened, memory grows to its steady
 * size, and so does the log of the database: a second of that is left out, or a
 * fifth of a short queue. Returns how many deliveries were made meanwhile. */
static int64_t warm_up(struct bench_run *r, const struct plan *p,
		       const struct sink *s)
{
	int64_t began = clock_mono_ns();

	while (sink_count(s) < p->rows / 5 && !bench_stopped(r) &&
	       clock_mono_ns() - began < WARM_UP_NS)
		nap();
	return sink_count(s);
}

/* For the given time, or until the end. */
static void watch_deliveries(struct bench_run *r, const struct plan *p,
			     const struct sink *s, struct test_daemon *h,
			     struct bench_sample *out)
{
	int64_t began = clock_mono_ns(), from, until;
	double cpu;

	while (sink_count(s) == 0 && !bench_stopped(r) &&
	       clock_mono_ns() - began < GIVE_UP)
		nap();
	from = warm_up(r, p, s);
	if (from == p->rows)
		from = 0; /* a short queue may be empty before the check */
	cpu = test_daemon_cpu_s(h);
	if (from)
		began = clock_mono_ns();
	until = began + (int64_t)(bench_seconds(r) * 1e9);
	while (sink_count(s) < p->rows && clock_mono_ns() < until &&
	       !bench_stopped(r))
		nap();
	out->operations = sink_count(s) - from;
	out->value = (double)out->operations * 1e9 /
		     (double)(clock_mono_ns() - began);
	out->more[RSS_MB] = (double)test_daemon_rss(h) / 1e6;
	if (out->operations)
		out->more[CPU_US] = (test_daemon_cpu_s(h) - cpu) * 1e6 /
				    (double)out->operations;
}

/* The messages that the receiver got, and the rows. */
static int compare_received(struct test_daemon *h, const struct sink *s,
			    int64_t *delivered, struct err *e)
{
	int64_t flying = 0;
	char path[700];
	struct sql *db;
	int rc;

	snprintf(path, sizeof path, "%s/state/skep.sqlite", h->home);
	if (sql_open(&db, path, NULL, SQL_READONLY, e))
		return -1;
	rc = sql_script_i64(db,
			    "SELECT count(*) FROM delivery WHERE channel = "
			    "'live' AND state = 'delivered'",
			    delivered, e) ||
			     sql_script_i64(db,
					    "SELECT count(*) FROM delivery "
					    "WHERE channel = 'live' AND state "
					    "NOT IN ('pending','delivered')",
					    &flying, e)
		     ? -1
		     : 0;
	sql_close(db);
	if (rc == 0 && (*delivered > sink_count(s) ||
			*delivered + flying + 1024 < sink_count(s)))
		return err_set(e, ERR_INTERNAL,
			       "the receiver has %" PRId64
			       " messages, the rows say %" PRId64,
			       sink_count(s), *delivered);
	return rc;
}

static int measure_delivery(struct bench_run *r, void *arg,
			    struct bench_sample *out, struct err *e)
{
	const struct plan *p = arg;
	const char *dir = bench_dir(r, "delivery");
	struct sink *live = NULL, *dead = NULL;
	int64_t delivered = 0;
	struct test_daemon h;
	int rc = sink_open(&live, false, e) || sink_open(&dead, true, e)
			 ? -1
			 : make_home(r, p, dir, live, dead, e);

	if (rc == 0)
		rc = test_daemon_start(&h, dir, e);
	if (rc == 0) {
		watch_deliveries(r, p, live, &h, out);
		test_daemon_stop(&h);
		rc = compare_received(&h, live, &delivered, e);
		out->more[DELIVERED] = (double)delivered;
	}
	sink_close(live);
	sink_close(dead);
	bench_dir_remove(r, dir);
	return rc;
}

/* The rate, and its ratio to the rate with a commit for each change. */
static void print_times(struct bench_run *r, const char *rate,
			const char *times, const struct bench_result *ours,
			const struct bench_result *one_each)
{
	double each = samples_median(&one_each->values);

	bench_metric(r, &(struct bench_metric){
				.metric = rate,
				.unit = "1/s",
				.samples = &ours->values,
				.against = "one_commit_each",
				.against_value = each,
			});
	bench_metric(
		r,
		&(struct bench_metric){
			.metric = times,
			.unit = "x",
			.value = each > 0 ? samples_median(&ours->values) / each
					  : 0,
			.against = "target",
			.against_value = TARGET_TIMES,
		});
}

static void print_results(struct bench_run *r, const struct plan *plans,
			  const struct bench_result *res,
			  const struct bench_sample *many)
{
	print_times(r, "deliveries_per_s", "times_one_commit_each", &res[OURS],
		    &res[ONE_EACH]);
	print_times(r, "deliveries_per_s_in_order",
		    "times_one_commit_each_in_order", &res[IN_ORDER],
		    &res[ONE_EACH_IN_ORDER]);
	bench_metric(r,
		     &(struct bench_metric){
			     .metric = "deliveries_per_s_beside_dead",
			     .unit = "1/s",
			     .samples = &res[BESIDE_DEAD].values,
			     .against = "alone",
			     .against_value = samples_median(&res[OURS].values),
		     });
	bench_metric(r, &(struct bench_metric){
				.metric = "skepd_mb_many_pending",
				.unit = "MB",
				.value = many->more[RSS_MB],
				.less_is_better = true,
				.against = "few pending",
				.against_value = samples_median(
					&res[OURS].more[RSS_MB]),
			});
	bench_table(r, TABLE, "case|pending|deliveries/s|skepd MB|CPU us each");
	for (size_t i = 0; i < CASES; i++)
		bench_table(r, TABLE, "%s|%" PRId64 "|%.0f|%.1f|%.0f",
			    plans[i].name, plans[i].rows,
			    samples_median(&res[i].values),
			    samples_median(&res[i].more[RSS_MB]),
			    samples_median(&res[i].more[CPU_US]));
	bench_table(r, TABLE, "%s|%" PRId64 "|%.0f|%.1f|%.0f", plans[MANY].name,
		    plans[MANY].rows, many->value, many->more[RSS_MB],
		    many->more[CPU_US]);
}

static int run_delivery(struct bench_run *r, struct err *e)
{
	bool quick = bench_is_quick(r);
	int64_t rows = bench_option_i64(r, "rows", quick ? 300 : 60000);
	int64_t many = bench_option_i64(r, "pending", quick ? 1000 : 1000000);
	int at_once = (int)bench_option_i64(r, "inflight", INFLIGHT);
	struct plan plans[] = {
		[OURS] = {"ours", rows, 256, at_once, false, false},
		[ONE_EACH] = {"one_commit_each", rows, 1, at_once, false,
			      false},
		[IN_ORDER] = {"in_order", rows, 256, at_once, true, false},
		[ONE_EACH_IN_ORDER] = {"one_commit_each_in_order", rows, 1,
				       at_once, true, false},
		[BESIDE_DEAD] = {"beside_dead", rows, 256, at_once, false,
				 true},
		[MANY] = {"many_pending", many, 256, at_once, true, false},
	};
	struct bench_case cases[CASES];
	struct bench_result res[CASES];
	static struct bench_sample last; /* filling the long queue takes long */

	for (size_t i = 0; i < CASES; i++)
		cases[i] = (struct bench_case){plans[i].name, measure_delivery,
					       &plans[i]};
	if (bench_interleave(r, cases, CASES, res, e))
		return -1;
	if (!bench_stopped(r) && measure_delivery(r, &plans[MANY], &last, e))
		return -1;
	print_results(r, plans, res, &last);
	return 0;
}

const struct bench bench_delivery = {
	.name = "delivery",
	.help = "how fast the durable queue empties into a webhook",
	.about =
		"A full queue is delivered to a receiver on this "
		"machine that answers at once:\nskepd claims, signs and sends "
		"messages and records the outcomes. Every claim is on disk "
		"before\nits message is sent. one_commit_each is the same "
		"skepd, with the same "
		"requests at once and the same\nsynchronous=FULL, but a commit "
		"of its own for each claim and for each outcome (adding\n"
		"the messages to the queue counts in neither). The messages "
		"are independent; with in_order\nthey are in 1024 "
		"conversations, one after the other in each. beside_dead has a "
		"second channel\nwhose receiver never answers. many_pending "
		"is a long queue, in order: memory does not grow\nwith it.",
	.options =
		(const struct bench_option[]){
			{"rows", "N", "messages in the queue (60000)"},
			{"pending", "N", "in the long queue (1000000)"},
			{"inflight", "N", "requests at once (64)"},
			{0}},
	.seconds = 3,
	.rounds = 5,
	.run = run_delivery,
};
