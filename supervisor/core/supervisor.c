#include "supervisor/core/supervisor.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json_write.h"
#include "schema/control/control.h"

#include <assert.h>

struct sql *supervisor_db(struct supervisor *s)
{
	return s->db;
}

const struct config *supervisor_config(const struct supervisor *s)
{
	return &s->config;
}

const struct home *supervisor_home(const struct supervisor *s)
{
	return &s->home;
}

/* --- answers after the commit ----------------------------------------- */

struct pending {
	struct completion done;
	struct command_result result;
};

static void call_done(void *arg, const struct err *failed)
{
	struct pending *p = arg;

	p->result.failed = failed;
	if (p->done.call)
		p->done.call(p->done.arg, &p->result);
}

void complete_later(struct supervisor *s, struct completion done,
		    const char *id, bool changed, const char *note)
{
	struct pending *p = txn_alloc(&s->txn, sizeof *p);

	p->done = done;
	p->result.changed = changed;
	p->result.note = txn_text(&s->txn, note);
	text_fit(p->result.id.text, sizeof p->result.id.text, id);
	txn_on_commit(&s->txn, call_done, p);
}

void supervisor_after_commit(struct supervisor *s,
			     void (*fn)(void *arg, const struct err *failed),
			     void *arg)
{
	txn_on_commit(&s->txn, fn, arg);
}

int supervisor_log_event(struct supervisor *s, struct host_event_add_in *in,
			 const char *member, const char *text, struct err *e)
{
	struct buf body = BUF_MAX(256);
	int rc;

	json_begin_object(&body);
	json_put_text(&body, member, text);
	json_end_object(&body);
	in->at = clock_now();
	in->body = body.p;
	rc = sql_exec(s->db, Q_HOST_EVENT_ADD, in, e);
	buf_fini(&body);
	s->host_changed = true;
	return rc < 0 ? -1 : 0;
}

/* --- hints ------------------------------------------------------------ */

void on_hint(struct supervisor *s, enum hint_kind kind, hint_fn *fn)
{
	hint_fn **at = s->hints.listeners[kind];

	while (*at)
		at++;
	assert(at < s->hints.listeners[kind] + HINT_LISTENERS);
	*at = fn;
}

void send_hint(struct supervisor *s, const struct hint *h)
{
	hint_fn *const *at = s->hints.listeners[h->kind];

	for (int i = 0; i < HINT_LISTENERS && at[i]; i++)
		at[i](s, h);
}
