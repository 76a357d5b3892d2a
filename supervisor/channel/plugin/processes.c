#include "supervisor/channel/plugin/processes.h"

#include "lib/base/hash.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By device and inode of the home, since its path may name another directory
 * later. */
void plugin_processes_init(struct plugin_processes *p, const char *home,
			   const char *id)
{
	char hash[HASH_HEX], text[64];
	struct stat st = {0};

	*p = (struct plugin_processes){.pidfd = -1};
	(void)!stat(home, &st);
	snprintf(text, sizeof text, "%llx %llx", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	hash_of(text, strlen(text), hash);
	snprintf(p->tag, sizeof p->tag, "%s@%.16s", id, hash);
	snprintf(p->cgroup, sizeof p->cgroup, "%s", id);
}

bool plugin_processes_of_tag(struct plugin_processes *p, const char *home,
			     const char *tag)
{
	char id[ID_SIZE];

	snprintf(id, sizeof id, "%.*s", (int)strcspn(tag, "@"), tag);
	if (!id_is(ID_CHANNEL, id))
		return false;
	plugin_processes_init(p, home, id);
	return !strcmp(p->tag, tag);
}

void plugin_processes_fini(struct plugin_processes *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
	p->shim = 0;
	p->spawn = PLUGIN_NOT_SPAWNED;
}

void plugin_processes_spawned(struct plugin_processes *p,
			      const struct spawn_event *t, int pidfd)
{
	p->spawn = PLUGIN_SPAWNED;
	p->shim = t->pid;
	p->start_ticks = t->start_ticks;
	p->pidfd = pidfd;
	p->in_cgroup = t->in_cgroup;
}

void plugin_processes_assume(struct plugin_processes *p,
			     const struct process_roots *roots)
{
	p->spawn = PLUGIN_SPAWNED;
	p->in_cgroup = processes_have_cgroup(roots, p->cgroup);
}

bool plugin_shim_is_alive(const struct plugin_processes *p)
{
	struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};

	return p->pidfd >= 0 && poll(&ended, 1, 0) == 0;
}

struct processes plugin_processes_view(const struct plugin_processes *p)
{
	return (struct processes){
		.run = p->tag,
		.cgroup = p->cgroup,
		.worker = p->shim,
		.start_ticks = p->start_ticks,
		.in_cgroup = p->in_cgroup,
	};
}

void plugin_processes_terminate(const struct plugin_processes *p,
				const struct process_roots *roots)
{
	static const int signals[] = {SIGTERM, SIGCONT}; /* if it is stopped */
	struct processes t = plugin_processes_view(p);
	bool shim = plugin_shim_is_alive(p);

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (shim)
			syscall(SYS_pidfd_send_signal, p->pidfd, signals[i],
				NULL, 0);
		else
			processes_signal(roots, &t, signals[i]);
}
