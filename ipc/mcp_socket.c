#include "ipc/mcp_socket.h"

#include "ipc/run_socket.h"
#include "lib/os/process.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The PID in the name of a socket, or 0. */
static int owner_of(const char *name)
{
	char again[ASK_SOCKET_SIZE];
	int pid = 0;

	if (sscanf(name, ASK_SOCKET, &pid) == 1) // NOLINT(cert-err34-c)
		snprintf(again, sizeof again, ASK_SOCKET, pid);
	else if (sscanf(name, RUN_SOCKET, &pid) == 1) // NOLINT(cert-err34-c)
		snprintf(again, sizeof again, RUN_SOCKET, pid);
	else
		return 0;
	return strcmp(name, again) == 0 ? pid : 0;
}

static bool is_dead(const char *name)
{
	struct process_identity m;
	int pid = owner_of(name);

	return pid > 0 && (!process_identity(pid, &m) || !process_is_alive(&m));
}

void ask_socket_remove_stale(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (is_dead(entry->d_name))
			(void)unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
}
