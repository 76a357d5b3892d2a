#ifndef BENCH_PEERS_NODE_H
#define BENCH_PEERS_NODE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdio.h>
#include <sys/types.h>

/*
 * Peers that are JavaScript packages. Node runs a script of ours
 * (bench/peers/peer_*.js, compiled in) that does the work with the package and
 * prints its measurements. Packages are searched in $SKEP_BENCH_NODE_MODULES,
 * or else in ~/.cache/skep-bench/node_modules.
 */
struct node_script {
	const char *package; /* its name in npm */
	const unsigned char *text;
	size_t n;
};

/* Declares the array that CMake generated from bench/peers/NAME.js. */
#define NODE_SCRIPT(name)                       \
	extern const unsigned char name##_js[]; \
	extern const size_t name##_js_n

/* The directory of packages; "" without a home directory. */
const char *node_modules(void);
/* Whether node and the package are installed. */
bool node_has(const char *package);
/* Runs the script with these arguments (from argv[2] on, ends with NULL) and
 * returns its output. ERR_UNSUPPORTED: node or the package is not installed. */
int node_run(const struct node_script *s, const char *const *args,
	     struct buf *out, struct err *e);

/* The same for an interactive script: lines in, lines out. */
struct node_request {
	pid_t pid;
	FILE *to, *from;
};

int node_open(struct node_request *t, const struct node_script *s,
	      const char *const *args, struct err *e);
void node_close(struct node_request *t); /* waits for its exit */

/* Installs the package with npm, unless it is installed; ERR_UNSUPPORTED: there
 * is no npm, or it failed. */
int node_fetch(const char *package, struct err *e);

#endif
