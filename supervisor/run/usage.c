/* Memory and CPU time of runs, measured in a thread: without cgroups it reads the
 * environments of all processes of the host. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "supervisor/core/usage.h"
#include "supervisor/run/internal.h"

struct measured_run {
	char started_for[ID_SIZE], cgroup[ID_SIZE];
	struct processes tree;
};

struct measurement {
	uv_work_t work;
	struct process_roots roots;
	struct measured_run *runs;
	struct run_usage *rows;
	int n;
	run_usage_fn *done;
	void *arg;
};

static void measure_in_thread(uv_work_t *w)
{
	struct measurement *m = w->data;

	for (int i = 0; i < m->n; i++) {
		struct process_usage use = {0};
		struct processes t = m->runs[i].tree;

		t.run = m->runs[i].started_for;
		t.cgroup = t.cgroup ? m->runs[i].cgroup : NULL;
		m->rows[i].processes = processes_count(&m->roots, &t, &use);
		m->rows[i].rss = use.rss;
		m->rows[i].cpu_ms = use.cpu_ms;
	}
}

static void measured(uv_work_t *w, int status)
{
	struct measurement *m = w->data;

	m->done(m->arg, m->rows, status ? 0 : m->n);
	free(m->runs);
	free(m->rows);
	free(m);
}

static void add_run(struct measurement *m, const struct active_run *l)
{
	struct measured_run *r = &m->runs[m->n];

	r->tree = active_run_processes(l);
	text_printf(r->started_for, sizeof r->started_for, "%s", r->tree.run);
	if (r->tree.cgroup)
		text_printf(r->cgroup, sizeof r->cgroup, "%s", r->tree.cgroup);
	text_printf(m->rows[m->n].id, sizeof m->rows[m->n].id, "%s", l->id);
	m->n++;
}

void supervisor_measure_runs(struct supervisor *s, char *const *ids, int n,
			     run_usage_fn *done, void *arg)
{
	struct measurement *m = calloc(1, sizeof *m);

	if (!m)
		abort();
	m->work.data = m;
	m->roots = s->roots;
	m->runs = calloc((size_t)n + 1, sizeof *m->runs);
	m->rows = calloc((size_t)n + 1, sizeof *m->rows);
	m->done = done;
	m->arg = arg;
	if (!m->runs || !m->rows)
		abort();
	for (int i = 0; i < n; i++) {
		const struct active_run *l = active_run_find(&s->runs->active,
							     ids[i]);

		if (l)
			add_run(m, l);
	}
	uv_queue_work(&s->loop, &m->work, measure_in_thread, measured);
}
