#include "worker/process/orphans.h"

#include "lib/json/json.h"
#include "lib/os/proc.h"
#include "lib/os/process_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 16 /* names */

struct list {
	struct buf *out;
	int n;
};

static bool read_name(pid_t pid, char name[64])
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, 63);
	if (fd >= 0)
		close(fd);
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return n > 0;
}

static void add_orphan(void *arg, pid_t pid)
{
	struct list *l = arg;
	struct proc_stat st;
	char name[64];

	if (proc_stat(pid, &st) || st.state == 'Z' || st.state == 'X' ||
	    !read_name(pid, name) || ++l->n > SHOWN)
		return;
	if (l->n > 1)
		buf_addc(l->out, ',');
	json_add_string(l->out, name, strlen(name));
}

int orphans_list(struct buf *out)
{
	struct list l = {.out = out};

	buf_addc(out, '[');
	tree_each(add_orphan, &l);
	buf_addc(out, ']');
	return l.n;
}

void orphans_say(struct run *r)
{
	struct buf names = BUF_MAX(4096);
	struct err ignored;
	int n;

	if (!run_ending(r) && !tree_reap(r->child, &r->child_status) &&
	    r->child_status != RUN_NO_STATUS && (n = orphans_list(&names)) > 0)
		(void)transcript_addf(
			&r->transcript, "status", NULL, &ignored,
			"{\"left\":%s,\"text\":\"the command left %d "
			"process%s running: ended with the run\"}",
			names.p, n, n == 1 ? "" : "es");
	buf_fini(&names);
}
