#include "vfs/fuse/busy_poll.h"

#include "lib/base/clock.h"

#include <poll.h>
#include <sched.h>

#define POLL_NS   200000 /* at most, for each request */
#define SOON_NS   400000 /* time of a request that came soon, including sleep */
#define QUICK_MIN 4
#define BUSY_NS   100000 /* a longer yield: other processes have work */
#define BREAK     64     /* requests before the next attempt */

bool busy_poll_ready(struct busy_poll *p, int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int64_t now = clock_mono_ns();

	p->since = now;
	if (p->quick < QUICK_MIN)
		return false;
	while (now - p->since < POLL_NS) {
		int64_t before = now;

		if (poll(&ready, 1, 0) > 0)
			return true;
		sched_yield();
		now = clock_mono_ns();
		if (now - before > BUSY_NS) {
			p->quick = -BREAK;
			return false;
		}
	}
	p->quick = 0;
	return false;
}

void busy_poll_hit(struct busy_poll *p)
{
	if (clock_mono_ns() - p->since > SOON_NS)
		p->quick = p->quick < 0 ? p->quick : 0;
	else if (p->quick < QUICK_MIN)
		p->quick++;
}
