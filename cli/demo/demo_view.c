#include "cli/demo/demo.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A letter for each state, and its style. */
static const struct {
	const char *state;
	const char *mark;
	enum output_style style;
} marks[] = {
	{"queued", "·", STYLE_DIM},     {"starting", "›", STYLE_PLAIN},
	{"running", "▸", STYLE_HEAD},   {"paused", "=", STYLE_DIM},
	{"stopping", "▾", STYLE_BAD},   {"ending", "▿", STYLE_PLAIN},
	{"succeeded", "✓", STYLE_GOOD}, {"failed", "!", STYLE_BAD},
	{"cancelled", "✗", STYLE_BAD},  {"timed_out", "!", STYLE_BAD},
};

static void add_mark(struct buf *b, const struct output *o, const char *state)
{
	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
		if (!strcmp(marks[i].state, state)) {
			buf_addf(b, "%s%s%s", output_style(o, marks[i].style),
				 marks[i].mark, output_style(o, STYLE_PLAIN));
			return;
		}
	buf_adds(b, "·");
}

static bool is_live(const struct demo *d)
{
	return !d->cli->out.json && isatty(d->cli->out.fd);
}

/* Removes the view from the terminal, so that a line can be printed above
 * it. */
static void lift(struct demo *d)
{
	if (d->live > 0)
		fprintf(d->cli->out.to, "\x1b[%dA\x1b[J", d->live);
	d->live = 0;
}

void demo_print(struct demo *d, const char *fmt, ...)
{
	va_list ap;

	if (d->cli->out.json)
		return;
	if (is_live(d))
		lift(d);
	fprintf(d->cli->out.to, "%5.1f s  ", (double)demo_ms(d) / 1000);
	va_start(ap, fmt);
	vfprintf(d->cli->out.to, fmt, ap);
	va_end(ap);
	fputc('\n', d->cli->out.to);
	(void)fflush(d->cli->out.to);
	if (is_live(d))
		demo_draw(d);
}

static void add_agent(struct demo *d, int agent, struct buf *b)
{
	int64_t events = 0;

	buf_addf(b, "  %-6s %-7s %-12s", demo_agents[agent].name,
		 demo_agents[agent].driver, demo_workspace(agent));
	for (int i = 0; i < d->nruns; i++) {
		if (d->runs[i].agent != agent)
			continue;
		add_mark(b, &d->cli->out, d->runs[i].state);
		events += d->runs[i].last_seq;
	}
	buf_addf(b, "  %6" PRId64 " events\n", events);
}

void demo_draw(struct demo *d)
{
	struct buf b = BUF_MAX(65536);

	if (!is_live(d))
		return;
	lift(d);
	buf_adds(&b, "\n");
	for (int i = 0; i < DEMO_AGENTS; i++)
		add_agent(d, i, &b);
	buf_addf(&b,
		 "\n  %d of %d runs are over, %.1f s   "
		 "· waits  ▸ runs  ▾ is being stopped  ✓ done  ✗ cancelled\n",
		 demo_over(d), d->nruns, (double)demo_ms(d) / 1000);
	fwrite(b.p, 1, b.n, d->cli->out.to);
	(void)fflush(d->cli->out.to);
	for (size_t i = 0; i < b.n; i++)
		d->live += b.p[i] == '\n';
	buf_fini(&b);
}
