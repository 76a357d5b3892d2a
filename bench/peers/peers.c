/* skep-bench peers: lists the peers that are available on this machine. */
#include "bench/harness.h"
#include "bench/peers/node.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	const char *program; /* in PATH, or its path; "": built in */
	const char *package; /* in npm; "": not a package */
	const char *how;
} peers[] = {

#define PEER(name, program, package, how) {name, program, package, how},
#include "bench/peers/peers.def"
#undef PEER
};

bool peer_on_path(const char *program)
{
	const char *path = getenv("PATH");

	for (path = path ? path : ""; *path;) {
		size_t n = strcspn(path, ":");
		char full[4096];

		snprintf(full, sizeof full, "%.*s/%s", (int)n, path, program);
		if (access(full, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static bool is_here(size_t i)
{
	const char *program = peers[i].program;
	glob_t g;
	bool here;

	if (*peers[i].package)
		return node_has(peers[i].package);
	if (*program != '/')
		return !*program || peer_on_path(program);
	here = glob(program, 0, NULL, &g) == 0;
	globfree(&g);
	return here;
}

int peers_command(int argc, char **argv, struct err *e)
{
	if (argc > 0)
		return err_set(e, ERR_USAGE, "peers takes no '%s'", argv[0]);
	for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
		printf("  %-4s %-15s %s\n", is_here(i) ? "yes" : "no",
		       peers[i].name, peers[i].how);
	}
	printf("packages of npm are looked for in %s;\n"
	       "another place: SKEP_BENCH_NODE_MODULES\n",
	       node_modules());
	return 0;
}
