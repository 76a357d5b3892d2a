#ifndef SUPERVISOR_PLUGIN_TREE_H
#define SUPERVISOR_PLUGIN_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * All processes of a plugin. They are below its warden (spawner/warden.h), which
 * ends them when it is told to, and goes when none is left: that is the proof,
 * and nobody has to look through /proc. A warden that a former skepd left is on
 * its way out, and found by its mark; those whose warden was killed are found by
 * theirs, or by the brand that the warden gave them.
 */
struct plugin_tree {
	const char *id; /* of the channel */
	pid_t warden;   /* a child of ours; 0: none */
	bool loose;     /* there may be some below no warden of ours */
};

uint64_t plugin_tree_brand(const char *id);

/* SIGTERM or SIGKILL for all of them, through the warden if there is one. */
void plugin_tree_signal(struct plugin_tree *t, int sig);

/* Is nobody left? Then the warden was waited for. */
bool plugin_tree_is_gone(struct plugin_tree *t);

#endif
