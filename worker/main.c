/* skep-worker: executes one attempt of one run; started by the spawner, with
 * its start message on descriptor 0 (ipc/start_message.h). With --mount it
 * serves the workspace of such an attempt (worker/workspace/workspace.h); with
 * --mcp it offers its files to an agent (worker/mcp/mcp.h); with --try it tests
 * an agent (worker/driver/acp/probe.h). */
#include "ipc/start_message.h"
#include "worker/driver/acp/probe.h"
#include "worker/mcp/mcp.h"
#include "worker/run/attempt.h"
#include "worker/workspace/workspace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("skep-worker %s\n", SKEP_VERSION);
		return 0;
	}
	if (argc == 5 && strcmp(argv[1], "--mount") == 0)
		return workspace_serve(argv[2], argv[3], argv[4]);
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "--mcp") == 0)
		return mcp_serve(argv[2], argc == 4 ? argv[3] : NULL);
	if (argc == 3 && strcmp(argv[1], "--try") == 0)
		return acp_probe(argv[2]);
	if (argc > 1 || isatty(START_FD)) {
		fprintf(stderr, "skep-worker is started by skepd, with a "
				"message on its standard input\n");
		return 64;
	}
	return worker_main(START_FD, -1, NULL);
}
