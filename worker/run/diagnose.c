#include "worker/run/diagnose.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "schema/agent/diagnostics.h"
#include "schema/control/stats.h"
#include "worker/driver/driver.h"
#include "worker/process/child.h"
#include "worker/run/run.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RECORDS   500  /* of one attempt */
#define LINE_KEPT 4096 /* bytes of a line that are kept */
#define NS_PER_US 1000
#define NS_PER_MS 1000000

/* What the host wants kept of an agent for which nobody has said it. */
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

static void add_text_or_empty(struct buf *b, const char *name, const char *text)
{
	buf_addf(b, "%s\"%s\":", b->n > 1 ? "," : "", name);
	json_add_string(b, text ? text : "", text ? strlen(text) : 0);
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
	buf_addc(&b, '{');
	add_text_or_empty(&b, "build", SKEP_VERSION);
	add_text_or_empty(&b, "driver", s->driver);
	add_text_or_empty(&b, "workspace", s->workspace_mode);
	add_text_or_empty(&b, "session", s->session);
	buf_addf(&b,
		 ",\"attempt\":%" PRId64 ",\"pid\":%d,\"start_us\":%" PRId64
		 ",\"pragmas\":",
		 s->attempt, (int)getpid(),
		 (clock_mono_ns() - r->began) / NS_PER_US);
	if (stats_add_pragmas(db, &b, &e))
		buf_adds(&b, "null");
	buf_addc(&b, '}');
	add_diagnostic(r, "worker", &b);
}

static void add_words(struct buf *b, const char *name, char *const *words,
		      char until)
{
	buf_addf(b, ",\"%s\":[", name);
	for (size_t i = 0; words[i]; i++) {
		const char *end = until ? strchr(words[i], until) : NULL;

		buf_adds(b, i ? "," : "");
		json_add_string(b, words[i],
				end ? (size_t)(end - words[i])
				    : strlen(words[i]));
	}
	buf_addc(b, ']');
}

void diagnose_command(struct run *r, const struct child_spec *spec,
		      const char *why)
{
	struct buf b = BUF_MAX(DIAGNOSTICS_BODY_MAX);

	if (r->records == 0)
		return;
	buf_addc(&b, '{');
	add_text_or_empty(&b, "cwd", spec->cwd);
	add_words(&b, "argv", spec->argv, '\0');
	add_words(&b, "environment", spec->env, '='); /* names only */
	buf_addf(&b, ",\"pid\":%d", (int)r->child);
	if (why)
		add_text_or_empty(&b, "failed", why);
	buf_addc(&b, '}');
	add_diagnostic(r, "command", &b);
}

void diagnose_line(struct run *r, const char *what, const char *p, size_t n)
{
	struct buf b = BUF_MAX(DIAGNOSTICS_BODY_MAX);

	if (r->records == 0)
		return;
	buf_addc(&b, '{');
	add_text_or_empty(&b, "what", what);
	buf_addf(&b, ",\"bytes\":%zu,\"line\":", n);
	json_add_string(&b, p, n < LINE_KEPT ? n : LINE_KEPT);
	buf_addc(&b, '}');
	add_diagnostic(r, "line", &b);
}

void diagnose_output(struct run *r, int64_t taken, int64_t dropped)
{
	struct buf b = BUF_MAX(256);

	buf_addf(&b, "{\"kept\":%" PRId64 ",\"dropped\":%" PRId64 "}", taken,
		 dropped);
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
	r->records = 1; /* the end is told, however much there was */
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &below);
	buf_addc(&b, '{');
	add_text_or_empty(&b, "outcome", reason_outcome(end->reason));
	add_text_or_empty(&b, "reason", reason_code(end->reason));
	add_text_or_empty(&b, "detail", end->detail);
	buf_addf(&b,
		 ",\"ms\":%" PRId64 ",\"commits\":%" PRId64
		 ",\"cpu_ms\":%" PRId64 ",\"rss_kb\":%ld,\"commands_cpu_ms\":"
		 "%" PRId64 ",\"commands_rss_kb\":%ld}",
		 (clock_mono_ns() - r->began) / NS_PER_MS,
		 atomic_load(&r->transcript.rev), cpu_ms(&self), self.ru_maxrss,
		 cpu_ms(&below), below.ru_maxrss);
	add_diagnostic(r, "end", &b);
}
