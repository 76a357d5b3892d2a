#include "lib/sandbox/support.h"

#include "lib/sandbox/namespaces.h"

#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ABI_SIGNALS 6

void sandbox_detect(struct sandbox_support *o)
{
	const unsigned errno_action = SECCOMP_RET_ERRNO;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	*o = (struct sandbox_support){
		.landlock = abi > 0 ? (int)abi : 0,
		.filter = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0,
				  &errno_action) == 0,
	};
}

void sandbox_probe(struct sandbox_support *o)
{
	const struct namespaces_plan p = {.user = -1,
					  .mnt = -1,
					  .root = -1,
					  .network = NETWORK_LOOPBACK,
					  .tmp = 65536};
	struct namespaces s = NAMESPACES_NONE;
	struct err e;

	sandbox_detect(o);
	o->namespaces = namespaces_make(&s, &p, &e) == 0;
	o->pids = o->namespaces && s.pid >= 0;
	namespaces_drop(&s);
}

int sandbox_missing(const struct sandbox_support *o,
		    const struct sandbox_spec *s, struct buf *out)
{
	int n = 0;

	if (s && s->mode == SANDBOX_OFF)
		return 0;
	if (o->landlock == 0) {
		buf_adds(out, "files: no Landlock (Linux 5.13 or newer, with "
			      "landlock in the kernel's lsm= list)\n");
		n++;
	} else if (o->landlock < ABI_SIGNALS) {
		buf_addf(out,
			 "%sabstract sockets: this is Landlock %d, which "
			 "restricts them from 6 on (Linux 6.12)\n",
			 o->pids ? "" : "signals and ", o->landlock);
		n++;
	}
	if (!o->filter) {
		buf_adds(out, "calls: no seccomp in this kernel\n");
		n++;
	}
	if (!o->namespaces) {
		buf_adds(out, "mounts, network and sockets: no namespaces "
			      "(kernel.unprivileged_userns_clone=1, or run "
			      "as root with CAP_SYS_ADMIN); commands run only "
			      "if the definition has \"sandbox\": "
			      "\"partial\"\n");
		n++;
	} else if (!o->pids) {
		buf_adds(out, "processes: no PID namespace with a /proc of its "
			      "own; calls that name another PID are refused\n");
		n++;
	}
	return n;
}

int sandbox_accept(const struct sandbox_support *o,
		   const struct sandbox_spec *s, const struct buf *missing,
		   struct err *e)
{
	int first = missing->n ? (int)strcspn(missing->p, "\n") : 0;

	if (s->mode == SANDBOX_REQUIRED && first > 0)
		return err_set(e, ERR_NOTALLOWED,
			       "the definition requires a sandbox that this "
			       "machine does not support: %.*s",
			       first, missing->p);
	if (s->mode == SANDBOX_ON && !o->namespaces)
		return err_set(
			e, ERR_NOTALLOWED,
			"cannot create %s (kernel.unprivileged_userns_clone=1, "
			"or run skepd as root with CAP_SYS_ADMIN); "
			"\"sandbox\": \"partial\" in the definition accepts a "
			"weaker sandbox, see docs/SANDBOX.md",
			o->error ? o->error : "namespaces for the sandbox");
	return 0;
}
