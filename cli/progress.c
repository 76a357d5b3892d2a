#include "cli/output.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <unistd.h>

#define REDRAW_NS 100000000
#define BAR       24

void progress_begin(struct progress *p, const struct output *o,
		    const char *what, int64_t total)
{
	*p = (struct progress){.what = what, .total = total};
	p->on = isatty(STDERR_FILENO) && !o->json;
	p->start_ns = clock_mono_ns();
}

static void draw(const struct progress *p, int64_t done, int64_t passed_ns)
{
	char bar[BAR + 1], left[TEXT_HUMAN] = "";
	double part = (double)done / (double)p->total;

	part = part < 0 ? 0 : part > 1 ? 1 : part;
	for (int i = 0; i < BAR; i++)
		bar[i] = i < (int)(part * BAR) ? '#' : '.';
	bar[BAR] = '\0';
	if (part > 0.01)
		text_human_millis(
			(int64_t)((double)passed_ns / 1e6 * (1 - part) / part),
			left);
	fprintf(stderr, "\r%s [%s] %3d %%  %s left\033[K", p->what, bar,
		(int)(part * 100), *left ? left : "?");
}

void progress_at(struct progress *p, int64_t done)
{
	int64_t now;

	if (!p->on)
		return;
	now = clock_mono_ns();
	if (now - p->drawn_ns < REDRAW_NS)
		return;
	p->drawn_ns = now;
	if (p->total > 0)
		draw(p, done, now - p->start_ns);
	else
		fprintf(stderr, "\r%s %" PRId64 "\033[K", p->what, done);
}

void progress_end(struct progress *p)
{
	if (p->on && p->drawn_ns)
		fputs("\r\033[K", stderr);
	p->on = false;
}
