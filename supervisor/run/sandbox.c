#include "supervisor/run/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/sandbox/support.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[CGROUP_LIMITS] = {[CGROUP_MEMORY] = "memory",
						 [CGROUP_CPU] = "cpu",
						 [CGROUP_PIDS] = "pids"};

static void add_limits(const struct active_run *l, struct buf *out)
{
	json_begin_object(out);
	for (int i = 0; i < CGROUP_LIMITS; i++)
		if (l->limits[i].dir[0])
			json_put_int(out, names[i], l->limits[i].max);
	json_end_object(out);
}

int run_sandbox_make(struct active_run *l, const struct sandbox_spec *spec,
		     struct err *e)
{
	static const char *const modes[] = {
		[SANDBOX_OFF] = "off",
		[SANDBOX_ON] = "on",
		[SANDBOX_PARTIAL] = "partial",
		[SANDBOX_REQUIRED] = "required",
	};
	static const char *const nets[] = {"host", "loopback", "none"};
	struct buf limits = BUF_MAX(512);
	struct sandbox_put_in in = {
		.run = l->id,
		.agent = l->agent,
		.attempt = l->attempt,
		.mode = modes[spec->mode],
		.network = nets[spec->network],
		.now = clock_now(),
	};
	int rc;

	if (spec->mode == SANDBOX_OFF)
		return 0;
	l->limits = calloc(CGROUP_LIMITS, sizeof *l->limits);
	if (!l->limits)
		abort();
	(void)cgroup_plan(&l->sup->roots.limits, &spec->limits, l->id,
			  l->limits);
	add_limits(l, &limits);
	in.limits = limits.p;
	rc = sql_exec(l->sup->db, Q_SANDBOX_PUT, &in, e) < 0 ? -1 : 0;
	buf_fini(&limits);
	return rc;
}

int run_sandbox_drop(struct active_run *l, struct err *e)
{
	struct sandbox_delete_in key = {l->id};

	if (l->kept_idle) /* the idle worker uses it */
		return 0;
	return sql_exec(l->sup->db, Q_SANDBOX_DELETE, &key, e) < 0 ? -1 : 0;
}

void run_sandbox_log_missing(struct supervisor *s)
{
	struct sandbox_support o;
	struct buf b = BUF_MAX(4096);
	int n;

	sandbox_probe(&o);
	n = sandbox_missing(&o, NULL, &b);
	for (int i = 0; i < CGROUP_LIMITS; i++) {
		if (s->roots.limits.base[i][0])
			continue;
		buf_addf(&b, "limits.%s: no cgroup that holds it\n", names[i]);
		n++;
	}
	if (n > 0)
		log_warn(LT("msg", "sandboxes are incomplete on this host"),
			 LT("lacks", b.p));
	buf_fini(&b);
}
