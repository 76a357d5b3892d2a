#include "cli/index_view.h"

#include "lib/base/clock.h"

#include <inttypes.h>

#define SILENT_NS 1000000000

static void at(void *arg, int64_t done)
{
	struct index_view *v = arg;

	progress_at(&v->bar, done);
	if (v->bar.on || v->json || v->printed ||
	    clock_mono_ns() - v->since < SILENT_NS)
		return;
	v->printed = true;
	fprintf(stderr,
		"skep: building the search index: %" PRId64
		" %s so far; later searches index only new data\n",
		done, v->what);
}

void index_view_begin(struct index_view *v, const struct cli *cli,
		      const char *what)
{
	*v = (struct index_view){
		.what = what, .since = clock_mono_ns(), .json = cli->out.json};
	v->watch = (struct index_watch){at, v};
	progress_begin(&v->bar, &cli->out, "building the search index:", 0);
}

void index_view_end(struct index_view *v)
{
	progress_end(&v->bar);
}
