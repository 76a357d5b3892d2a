#ifndef SUPERVISOR_CHANNEL_PLUGIN_PROCESSES_H
#define SUPERVISOR_CHANNEL_PLUGIN_PROCESSES_H

#include "lib/base/id.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * All processes of a plugin. They are below its shim (ipc/plugin_shim.h), which
 * ends them when it is told to, and goes when none is left: that is the proof,
 * and nobody has to look through /proc. A shim that a former skepd left is on
 * its way out; it is found by its mark, once, and then held by a pidfd. Those
 * whose shim was killed, or gave up, are found by their mark, or by the brand
 * that the shim gave them.
 *
 * Mark and brand tell the home as well as the channel: a home that was restored
 * beside the first one has channels with the same ids, and other plugins.
 */
#define PLUGIN_MARK (ID_SIZE + 17)

struct plugin_tree {
	struct plugin_tree *next; /* in one look through /proc */
	char mark[PLUGIN_MARK];   /* CHANNEL@HOME */
	uint64_t brand;
	pid_t shim;  /* 0: none is known */
	int held;    /* its pidfd, if it is no child of ours; -1 */
	bool loose;  /* there may be some below no shim: look through /proc */
	int sig;     /* for the next look: to all that it finds; 0: nothing */
	pid_t one;   /* of those that the last look found; 0: it found none */
	bool denied; /* that one is not ours to end */
};

/* Nobody, yet. */
void plugin_tree_init(struct plugin_tree *t, const char *home, const char *id);
/* The same by a mark; false: it is of no channel, or of another home. */
bool plugin_tree_of_mark(struct plugin_tree *t, const char *home,
			 const char *mark);
void plugin_tree_fini(struct plugin_tree *t);

/* Does its shim live? One that has ended was waited for; one that could not
 * prove that nobody is left makes the tree loose. */
bool plugin_tree_has_shim(struct plugin_tree *t);

/* SIGTERM or SIGKILL for all of them, by way of the shim. */
void plugin_tree_signal(const struct plugin_tree *t, int sig);

/* One look through /proc for all these trees, which are loose: whoever is left
 * of one gets its `sig`. A shim among them is held. */
void plugin_trees_look(struct plugin_tree *first);

/* A process that was found to be of the tree. False: it has ended. */
bool plugin_tree_found(struct plugin_tree *t, pid_t pid);

#endif
