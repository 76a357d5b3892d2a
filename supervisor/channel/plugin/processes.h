#ifndef SUPERVISOR_CHANNEL_PLUGIN_PROCESSES_H
#define SUPERVISOR_CHANNEL_PLUGIN_PROCESSES_H

#include "ipc/spawn.h"
#include "lib/base/id.h"
#include "supervisor/process/processes.h"

/*
 * The processes of one start of a plugin: its shim (ipc/plugin_shim.h) and the
 * descendants of the shim, as supervisor/process/processes.h sees them from
 * outside.
 *
 * The tag contains the home as well as the channel: a home that was restored
 * beside the original has channels with the same ids, but other plugins.
 */
enum plugin_spawn {
	PLUGIN_NOT_SPAWNED,
	PLUGIN_REQUESTED, /* the spawner has not answered */
	PLUGIN_SPAWNED,   /* a process may be left */
};

struct plugin_processes {
	char tag[SPAWN_RUN];  /* CHANNEL@HOME, the value of SPAWN_MARKER */
	char cgroup[ID_SIZE]; /* its name: the channel's id */
	enum plugin_spawn spawn;
	pid_t shim; /* 0: not known */
	int64_t start_ticks;
	int pidfd; /* of the shim; -1 */
	bool in_cgroup;
};

/* Initializes it without a process. */
void plugin_processes_init(struct plugin_processes *p, const char *home,
			   const char *id);
/* The same from a tag; false if the tag is not of a channel of this home. */
bool plugin_processes_of_tag(struct plugin_processes *p, const char *home,
			     const char *tag);
void plugin_processes_fini(struct plugin_processes *p);

/* Records the spawner's answer. Takes pidfd. */
void plugin_processes_spawned(struct plugin_processes *p,
			      const struct spawn_event *t, int pidfd);
/* The spawner died before it answered: assumes that the shim was started. */
void plugin_processes_assume(struct plugin_processes *p,
			     const struct process_roots *roots);

/* False also if the pid is unknown. */
bool plugin_shim_is_alive(const struct plugin_processes *p);

struct processes plugin_processes_view(const struct plugin_processes *p);

/* Sends SIGTERM: to the shim, which forwards it, or to all processes if the
 * shim has exited. */
void plugin_processes_terminate(const struct plugin_processes *p,
				const struct process_roots *roots);

#endif
