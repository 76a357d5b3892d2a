/* Our append path as in a worker: fence, session, idempotency key, parent,
 * event, in one transaction (schema/agent/transcript/writer.h). */
#include "bench/suites/store.h"
#include "lib/db/checkpoint.h"
#include "lib/json/json_write.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/writer.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 256
#define PAGE      1000

struct ours {
	struct agent_file file;
	struct writer writer;
	struct event_new in[BATCH_MAX];
	struct event_ref out[BATCH_MAX];
	char session[64];
};

static void close_ours(void *store)
{
	struct ours *s = store;

	agent_file_close(&s->file);
	free(s);
}

static int open_ours(void **out, const char *dir, const char *session,
		     struct err *e)
{
	struct ours *s = calloc(1, sizeof *s);
	struct id run = id_new(ID_RUN);
	struct writer_run who = {.run_id = run.text, .attempt = 1, .epoch = 1};
	char path[4096];

	if (!s)
		abort();
	snprintf(path, sizeof path, "%s/agent.sqlite", dir);
	snprintf(s->session, sizeof s->session, "%s", session);
	if (agent_file_open(&s->file, path, "bench", SQL_CREATE, e)) {
		free(s);
		return -1;
	}
	sql_defer_sync(s->file.db, true); /* as a worker streams */
	if (writer_open(&s->writer, &s->file, session, &who, e)) {
		close_ours(s);
		return -1;
	}
	*out = s;
	return 0;
}

static int append_ours(void *store, const struct store_event *ev, size_t n,
		       struct err *e)
{
	struct ours *s = store;

	assert(n <= BATCH_MAX);
	for (size_t i = 0; i < n; i++)
		s->in[i] = (struct event_new){.type = "message",
					      .body = ev[i].json,
					      .key = ev[i].key,
					      .parent = WRITER_LEAF};
	return n == 1 ? writer_append(&s->writer, s->in, s->out, e)
		      : writer_append_batch(&s->writer, s->in, n, s->out, e);
}

static int append_full(void *store, const struct store_event *ev, size_t n,
		       struct err *e)
{
	struct ours *s = store;

	sql_defer_sync(s->file.db, false);
	return append_ours(store, ev, n, e);
}

static int read_ours(void *store,
		     int (*each)(void *arg, const char *json, size_t n),
		     void *arg, struct err *e)
{
	struct ours *s = store;
	struct arena lasting = {0}, page_mem = {0};
	struct history h;
	struct page p = {.more = true};
	int64_t after = 0;
	int stop = 0;
	int rc = history_load(&s->file, s->writer.session, HISTORY_LOG, &h,
			      &lasting, e);

	while (!rc && !stop && p.more) {
		arena_reset(&page_mem);
		rc = history_forward(&s->file, &h, after, PAGE, &p, &page_mem,
				     e);
		for (int i = 0; !rc && !stop && i < p.count; i++) {
			stop = each(arg, p.events[i].body,
				    strlen(p.events[i].body));
			after = p.events[i].seq;
		}
	}
	arena_fini(&page_mem);
	arena_fini(&lasting);
	return rc;
}

static int tail_ours(void *store, int n, struct err *e)
{
	struct ours *s = store;
	struct arena a = {0};
	struct history h;
	struct page p;
	int rc = history_load(&s->file, s->writer.session, HISTORY_LOG, &h, &a,
			      e);

	if (!rc)
		rc = history_backward(&s->file, &h, 0, n, &p, &a, e);
	arena_fini(&a);
	return rc;
}

static int patch_ours(void *store, const char *json, struct err *e)
{
	struct ours *s = store;
	struct arena a = {0};
	struct session_row row;
	struct buf patch = BUF_MAX(4096);
	int rc;

	json_begin_object(&patch);
	json_put_raw(&patch, "meta", json);
	json_end_object(&patch);
	rc = session_patch(&s->file, s->session, patch.p, 0, &row, &a, e);
	buf_fini(&patch);
	arena_fini(&a);
	return rc;
}

static int tune_ours(void *store, const char *pragmas, struct err *e)
{
	struct sql *db = ((struct ours *)store)->file.db;

	int frames;

	/* with its own functions: the write queue depends on them */
	if (sscanf(pragmas, "PRAGMA wal_autocheckpoint=%d", &frames) == 1) {
		sql_checkpoint_at(db, frames ? frames : INT_MAX);
		return 0;
	}
	if (!strcmp(pragmas, "PRAGMA synchronous=FULL")) {
		sql_defer_sync(db, false);
		return 0;
	}
	return sql_script(db, pragmas, e);
}

const struct store_kind store_ours = {
	.name = "ours",
	.what = "the worker's append: fence, key, parent, event",
	.open = open_ours,
	.append = append_ours,
	.read = read_ours,
	.tail = tail_ours,
	.patch = patch_ours,
	.tune = tune_ours,
	.close = close_ours,
};

const struct store_kind store_ours_full = {
	.name = "ours_full",
	.what = "the same with synchronous=FULL",
	.open = open_ours,
	.append = append_full,
	.read = read_ours,
	.tune = tune_ours,
	.close = close_ours,
};
