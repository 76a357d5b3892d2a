/* Database files of the home that were deleted or replaced while a process has
 * them open: the kernel shows such a descriptor as "PATH (deleted)". */
#include "ops/doctor/doctor.h"

#include "lib/os/file.h"
#include "lib/os/proc.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GONE " (deleted)"

/* The path without the suffix, if it is a database file of this home. */
static bool is_lost(const struct doctor *d, char *path)
{
	size_t n = strlen(path), root = strlen(d->home->root);
	char *mark = n > strlen(GONE) ? path + n - strlen(GONE) : NULL;

	if (!mark || strcmp(mark, GONE) != 0 ||
	    strncmp(path, d->home->root, root) != 0 || path[root] != '/')
		return false;
	*mark = '\0';
	return strstr(path + root, ".sqlite") != NULL;
}

static void inspect_link(struct doctor *d, pid_t pid, const char *link)
{
	char path[PATH_MAX], name[64] = "?";
	ssize_t n = readlink(link, path, sizeof path - 1);
	struct buf comm = BUF_MAX(sizeof name);
	struct err ignored;

	if (n <= 0)
		return;
	path[n] = '\0';
	if (!is_lost(d, path))
		return;
	(void)snprintf(name, sizeof name, "/proc/%d/comm", (int)pid);
	if (file_read(name, &comm, &ignored) == 0)
		comm.p[strcspn(comm.p, "\n")] = '\0';
	doctor_report(
		d, FINDING_file_lost, path,
		"process %d (%s) has it open, but the file was deleted or "
		"replaced",
		(int)pid, comm.n ? comm.p : "?");
	buf_fini(&comm);
}

static bool check_process(void *arg, pid_t pid)
{
	const struct dirent *entry;
	char dir[64], link[PATH_MAX];
	DIR *fds;

	(void)snprintf(dir, sizeof dir, "/proc/%d/fd", (int)pid);
	fds = opendir(dir);
	while (fds && (entry = readdir(fds))) {
		(void)snprintf(link, sizeof link, "%s/%s", dir, entry->d_name);
		inspect_link(arg, pid, link);
	}
	if (fds)
		closedir(fds);
	return true;
}

void doctor_lost(struct doctor *d)
{
	proc_each(check_process, d);
}
