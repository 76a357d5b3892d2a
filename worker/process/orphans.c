#include "worker/process/orphans.h"

#include "lib/base/text.h"
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
	json_add_text(l->out, name);
}

int orphans_list(struct buf *out)
{
	struct list l = {.out = out};

	json_begin_array(out);
	tree_each(add_orphan, &l);
	json_end_array(out);
	return l.n;
}

void orphans_report(struct run *r)
{
	struct buf b = BUF_MAX(8192);
	struct err ignored;
	char text[96];
	int n;

	if (run_ending(r) || tree_reap(r->child, &r->child_status) ||
	    r->child_status == RUN_NO_STATUS)
		return;
	json_begin_object(&b);
	json_key(&b, "left");
	n = orphans_list(&b);
	text_printf(text, sizeof text,
		    "the command left %d process%s running: ended with the run",
		    n, n == 1 ? "" : "es");
	json_put_text(&b, "text", text);
	json_end_object(&b);
	if (n > 0)
		(void)transcript_add_body(&r->transcript, "status", &b,
					  &ignored);
	buf_fini(&b);
}
