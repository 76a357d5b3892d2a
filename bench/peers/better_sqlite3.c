#include "bench/peers/better_sqlite3.h"
#include "bench/load/events.h"
#include "bench/peers/node.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#include <stdio.h>
#include <stdlib.h>

NODE_SCRIPT(peer_better_sqlite3);

#define EVENTS_PER_S 40000 /* more than possible; otherwise it ends early */

static int write_events(const char *path, int64_t n, struct err *e)
{
	static struct event_source source; /* a megabyte */
	FILE *f = fopen(path, "we");

	if (!f)
		return err_errno_set(e, "%s", path);
	source.keyed = 1;
	source.number = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct store_event *ev = events_next(&source, 1);

		fprintf(f, "%s\t%s\n", ev->key, ev->json);
	}
	return fclose(f) ? err_errno_set(e, "%s", path) : 0;
}

static int parse_result(const struct buf *output, struct bench_sample *out,
			struct err *e)
{
	cJSON *root = json_parse_object("node's answer", output->p, output->n,
					e);
	const cJSON *wait;

	if (!root)
		return -1;
	cJSON_ArrayForEach(wait, cJSON_GetObjectItem(root, "waits"))
		histogram_add(&out->wait,
			      (int64_t)(cJSON_GetNumberValue(wait) * 1000));
	out->operations = json_i64(root, "n", 0);
	out->value = (double)out->operations /
		     ((double)json_i64(root, "ns", 1) / 1e9);
	cJSON_Delete(root);
	return 0;
}

static int run_node(struct bench_run *r, const char *dir,
		    struct bench_sample *out, struct err *e)
{
	const struct node_script script = {"better-sqlite3",
					   peer_better_sqlite3_js,
					   peer_better_sqlite3_js_n};
	char db[4200], events[4200], seconds[32];
	const char *args[] = {db, events, seconds, NULL};
	struct buf output = BUF_MAX(256u << 20);
	int rc;

	snprintf(db, sizeof db, "%s/reference.sqlite", dir);
	snprintf(events, sizeof events, "%s/events", dir);
	snprintf(seconds, sizeof seconds, "%.3f", bench_seconds(r));
	rc = write_events(events,
			  (int64_t)(bench_seconds(r) * EVENTS_PER_S) + 1, e);
	if (!rc)
		rc = node_run(&script, args, &output, e);
	if (!rc)
		rc = parse_result(&output, out, e);
	buf_fini(&output);
	return rc;
}

int better_sqlite3_measure(struct bench_run *r, void *arg,
			   struct bench_sample *out, struct err *e)
{
	const char *dir;
	void *store;
	int rc;

	(void)arg;
	if (!node_has("better-sqlite3"))
		return err_set(e, ERR_UNSUPPORTED,
			       "better-sqlite3 is not here (see skep-bench "
			       "peers)");
	dir = bench_dir(r, "better-sqlite3");
	/* the reference creates the tables before and reads them after */
	if (store_reference.open(&store, dir, "session-1", e))
		return -1;
	rc = run_node(r, dir, out, e);
	if (!rc)
		rc = events_verify(&store_reference, store, out->operations,
				   NULL, e);
	store_reference.close(store);
	bench_dir_remove(r, dir);
	return rc;
}
