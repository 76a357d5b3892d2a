#include "vfs/fuse/placement.h"

#include "lib/os/proc.h"

#define FIRST     8   /* requests in sequence before the server moves */
#define AGAIN     64  /* requests until the next check: the client may move */
#define APART     16  /* requests after a removal */
#define AGAIN_MAX 256 /* while it stays: a check costs as much as a request */

static void start_again(struct placement *p)
{
	p->requests = 0;
	p->check_at = FIRST;
	p->interval = AGAIN;
}

void placement_init(struct placement *p)
{
	*p = (struct placement){.cpu = -1};
	start_again(p);
	if (sched_getaffinity(0, sizeof p->all, &p->all))
		p->unknown = true;
}

static void use_all(struct placement *p)
{
	if (p->cpu < 0)
		return;
	p->cpu = -1;
	(void)sched_setaffinity(0, sizeof p->all, &p->all);
}

/* A thread with a real-time policy drives others away from the only processor
 * that it may use. */
static bool is_real_time(void)
{
	int policy = sched_getscheduler(0);

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static void use_cpu_of(struct placement *p, pid_t client)
{
	int cpu = is_real_time() ? -1 : proc_thread_cpu(client);
	cpu_set_t one;

	p->unknown = cpu < 0 || cpu >= CPU_SETSIZE ||
		     !CPU_ISSET((size_t)cpu, &p->all);
	p->interval = cpu != p->cpu             ? AGAIN
		      : p->interval < AGAIN_MAX ? p->interval * 2
						: AGAIN_MAX;
	p->check_at = p->requests + p->interval;
	if (p->unknown) {
		use_all(p);
	} else if (cpu != p->cpu) {
		CPU_ZERO(&one);
		CPU_SET((size_t)cpu, &one);
		if (sched_setaffinity(0, sizeof one, &one) == 0)
			p->cpu = cpu;
	}
}

void placement_apart(struct placement *p)
{
	use_all(p);
	p->apart = APART;
	p->unknown = true;
}

static void end_apart(struct placement *p)
{
	p->apart = 0;
	p->unknown = false;
	start_again(p);
}

void placement_request(struct placement *p, pid_t client, bool parallel)
{
	if (client == 0)
		return;
	if (p->apart > 0) {
		if (--p->apart == 0)
			end_apart(p);
		return;
	}
	if (parallel || client != p->client) {
		p->client = client;
		start_again(p);
		use_all(p);
	} else if (p->requests++ == p->check_at) {
		use_cpu_of(p, client);
	}
}

void placement_idle(struct placement *p)
{
	if (p->apart > 0)
		end_apart(p);
	start_again(p);
}
