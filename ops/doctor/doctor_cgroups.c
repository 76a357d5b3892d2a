/* Cgroups of this home that a killed supervisor left behind. The next
 * supervisor removes those beside its own, but it may be started elsewhere, or
 * never. */
#include "ops/doctor/doctor.h"

#include "lib/sandbox/cgroup.h"

static void found(void *arg, const char *dir)
{
	doctor_report(arg, FINDING_stale_cgroup, dir, "it is empty");
}

void doctor_cgroups(struct doctor *d)
{
	char prefix[CGROUP_PREFIX];

	cgroup_prefix(d->home->root, prefix);
	cgroup_each_empty(prefix, found, d);
}
