#include "ipc/mcp_socket.h"

#include "lib/os/process.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_dead(const char *name)
{
	char again[ASK_SOCKET_SIZE];
	struct process_identity m;
	int pid = 0;

	if (sscanf(name, ASK_SOCKET, &pid) != 1) // NOLINT(cert-err34-c)
		return false;
	snprintf(again, sizeof again, ASK_SOCKET, pid);
	return strcmp(name, again) == 0 &&
	       (!process_identity(pid, &m) || !process_is_alive(&m));
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
