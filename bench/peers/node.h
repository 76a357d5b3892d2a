#ifndef BENCH_PEERS_NODE_H
#define BENCH_PEERS_NODE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdio.h>
#include <sys/types.h>

/*
 * Peers that are JavaScript packages. Node runs a script of ours (bench/peer_*.js,
 * compiled in) that does the work with the package and prints what it measured.
 * Packages are looked for in $SKEP_BENCH_NODE_MODULES, or else in
 * ~/.cache/skep-bench/node_modules.
 */
struct node_script {
	const char *package; /* as npm names it */
	const unsigned char *text;
	size_t n;
};

/* Declares what CMake made of bench/NAME.js. */
#define NODE_SCRIPT(name)                       \
	extern const unsigned char name##_js[]; \
	extern const size_t name##_js_n

/* Where packages are looked for; "" when there is no home either. */
const char *node_modules(void);
/* Whether node and the package are here. */
bool node_has(const char *package);
/* Runs the script with these arguments (argv[2] on in it, ends with NULL) and
 * gives what it printed. ERR_UNSUPPORTED: node or the package is not here. */
int node_run(const struct node_script *s, const char *const *args,
	     struct buf *out, struct err *e);

/* The same for a script that is talked to: lines in, lines out. */
struct node_request {
	pid_t pid;
	FILE *to, *from;
};

int node_open(struct node_request *t, const struct node_script *s,
	      const char *const *args, struct err *e);
void node_close(struct node_request *t); /* waits for its end */

/* Lets npm bring the package to where it is looked for, unless it is there;
 * ERR_UNSUPPORTED: there is no npm, or it cannot. */
int node_fetch(const char *package, struct err *e);

#endif
