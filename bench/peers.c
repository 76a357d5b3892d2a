/* skep-bench peers: which peers can take part on this machine. */
#include "bench/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	const char *program; /* "": built in */
	const char *how;
} peers[] = {

#define PEER(name, program, how) {#name, program, how},
#include "bench/peers.def"
#undef PEER
};

static bool on_path(const char *program)
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

int peers_command(int argc, char **argv, struct err *e)
{
	if (argc > 0)
		return err_set(e, ERR_USAGE, "peers takes no '%s'", argv[0]);
	for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
		bool there = !*peers[i].program || on_path(peers[i].program);

		printf("  %-4s %-14s %s\n", there ? "yes" : "no", peers[i].name,
		       peers[i].how);
	}
	return 0;
}
