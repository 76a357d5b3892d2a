#include "worker/run/diagnose.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "schema/agent/diagnostics.h"
#include "schema/control/stats.h"
#include "worker/driver/driver.h"
#include "worker/process/child.h"
#include "worker/run/run.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RECORDS   500  /* per attempt */
#define LINE_KEPT 4096 /* stored bytes of a line */
#define NS_PER_US 1000
#define NS_PER_MS 1000000

/* The setting of the host, for an agent without its own. */
static int64_t kept(const struct run *r)
{
	return r->start->diagnostics > 0 ? r->start->diagnostics : 0;
}

/* Takes b. */
static void add_diagnostic(struct run *r, const char *area, struct buf *b)
{
	struct err e;

	if (r->records > 0 && r->transcript.open && !b->over) {
		r->records--;
		if (diagnostics_add(r->transcript.file.db, kept(r), area,
				    r->start->run, b->p, &e) < 0)
			log_warn(LT("msg", "diagnostics"), LT("why", e.text));
	}
	buf_fini(b);
}

static void put_text_or_empty(struct buf *b, const char *name, const char *text)
{
	json_put_text(b, name, text ? text : "");
}

void diagnose_begin(struct run *r)
{
	const struct msg_start *s = r->start;
	struct buf b = BUF_MAX(DIAGNOSTICS_BODY_MAX);
	struct sql *db = r->transcript.file.db;
	int64_t rows;
	struct err e;

	if (diagnostics_limit(db, kept(r), &rows, &e) || rows == 0)
		return;
	r->records = RECORDS;
	json_begin_object(&b);
	put_text_or_empty(&b, "build", SKEP_VERSION);
	put_text_or_empty(&b, "driver", s->driver);
	put_text_or_empty(&b, "workspace", s->workspace_mode);
	put_text_or_empty(&b, "session", s->session);
	json_put_int(&b, "attempt", s->attempt);
	json_put_int(&b, "pid", getpid());
	json_put_int(&b, "start_us", (clock_mono_ns() - r->began) / NS_PER_US);
	json_key(&b, "pragmas");
	if (stats_add_pragmas(db, &b, &e))
		json_add_null(&b);
	json_end_object(&b);
	add_diagnostic(r, "worker", &b);
}

static void put_words(struct buf *b, const char *name, char *const *words,
		      char until)
{
	json_put_array(b, name);
	for (size_t i = 0; words[i]; i++) {
		const char *end = until ? strchr(words[i], until) : NULL;

		json_add_string(b, words[i],
				end ? (size_t)(end - words[i])
				    : strlen(words[i]));
	}
	json_end_array(b);
}

void diagnose_command(struct run *r, const struct child_spec *spec,
		      const char *why)
{
	struct buf b = BUF_MAX(DIAGNOSTICS_BODY_MAX);

	if (r->records == 0)
		return;
	json_begin_object(&b);
	put_text_or_empty(&b, "cwd", spec->cwd);
	put_words(&b, "argv", spec->argv, '\0');
	put_words(&b, "environment", spec->env, '='); /* names only */
	json_put_int(&b, "pid", r->child);
	json_put_text(&b, "failed", why);
	json_end_object(&b);
	add_diagnostic(r, "command", &b);
}

void diagnose_line(struct run *r, const char *what, const char *p, size_t n)
{
	struct buf b = BUF_MAX(DIAGNOSTICS_BODY_MAX);

	if (r->records == 0)
		return;
	json_begin_object(&b);
	put_text_or_empty(&b, "what", what);
	json_put_int(&b, "bytes", (int64_t)n);
	json_key(&b, "line");
	json_add_string(&b, p, n < LINE_KEPT ? n : LINE_KEPT);
	json_end_object(&b);
	add_diagnostic(r, "line", &b);
}

void diagnose_output(struct run *r, int64_t read, int64_t dropped)
{
	struct buf b = BUF_MAX(256);

	json_begin_object(&b);
	json_put_int(&b, "kept", read);
	json_put_int(&b, "dropped", dropped);
	json_end_object(&b);
	add_diagnostic(r, "output", &b);
}

static int64_t cpu_ms(const struct rusage *u)
{
	return (int64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000 +
	       (u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1000;
}

void diagnose_end(struct run *r, const struct run_end *end)
{
	struct buf b = BUF_MAX(DIAGNOSTICS_BODY_MAX);
	struct rusage self, below;

	if (r->records == 0)
		return;
	r->records = 1; /* the end is always recorded */
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &below);
	json_begin_object(&b);
	put_text_or_empty(&b, "outcome", reason_outcome(end->reason));
	put_text_or_empty(&b, "reason", reason_code(end->reason));
	put_text_or_empty(&b, "detail", end->detail);
	json_put_int(&b, "ms", (clock_mono_ns() - r->began) / NS_PER_MS);
	json_put_int(&b, "commits", atomic_load(&r->transcript.rev));
	json_put_int(&b, "cpu_ms", cpu_ms(&self));
	json_put_int(&b, "rss_kb", self.ru_maxrss);
	json_put_int(&b, "commands_cpu_ms", cpu_ms(&below));
	json_put_int(&b, "commands_rss_kb", below.ru_maxrss);
	json_end_object(&b);
	add_diagnostic(r, "end", &b);
}
