#include "cli/vfs/vfs_transfer_cli.h"

#include "lib/base/text.h"
#include "vfs/core/visit.h"

#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PORTED(F, S) F(S, i64, nodes) F(S, i64, bytes)
SHAPE_DECLARE(vfs_ported, PORTED);
SHAPE_DEFINE(vfs_ported, PORTED);

/* A node without content counts as this many bytes; a tar file uses about as
 * much for one. */
#define NODE_WORK 1024

static void print_transfer_progress(void *arg, int64_t nodes, int64_t bytes)
{
	struct transfer_view *view = arg;

	progress_at(&view->bar,
		    view->bar.total ? nodes * NODE_WORK + bytes : nodes);
}

static void begin_progress(struct cli *cli, struct transfer_view *view,
			   const char *path, const char *what)
{
	*view = (struct transfer_view){
		.port = {.path = path ? path : "",
			 .report = print_transfer_progress,
			 .arg = view}};
	progress_begin(&view->bar, &cli->out, what, 0);
}

/* Below a host directory; -1 is ignored, since the import will report it. */
static int64_t work_of_dir(const char *dir)
{
	char *const paths[] = {(char *)(uintptr_t)dir, NULL};
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int64_t work = 0;
	FTSENT *f;

	while (fts && (f = fts_read(fts)))
		if (f->fts_info != FTS_DP)
			work += NODE_WORK + (f->fts_info == FTS_F
						     ? f->fts_statp->st_size
						     : 0);
	if (fts)
		fts_close(fts);
	return work;
}

void port_begin_import(struct cli *cli, struct transfer_view *view,
		       const char *from, const char *path)
{
	struct stat st;

	begin_progress(cli, view, path, "importing");
	if (!view->bar.on || !strcmp(from, "-") || stat(from, &st))
		return;
	view->bar.total = S_ISDIR(st.st_mode) ? work_of_dir(from) : st.st_size;
}

static int add_work(void *arg, const struct vfs_found *f, struct err *e)
{
	(void)e;
	*(int64_t *)arg += NODE_WORK +
			   (S_ISREG(f->attr.mode) ? f->attr.size : 0);
	return 0;
}

void transfer_begin_export(struct cli *cli, struct transfer_view *view,
			   struct vfs *v, const char *path)
{
	struct err ignored; /* the export will report it */

	begin_progress(cli, view, path, "exporting");
	view->port.keep_setuid = cli_flag(cli, "keep-setuid");
	view->port.devices = cli_flag(cli, "devices");
	if (view->bar.on)
		(void)vfs_visit(v, view->port.path, add_work, &view->bar.total,
				&ignored);
}

int port_end(struct cli *cli, struct transfer_view *view, const char *done,
	     int rc)
{
	struct vfs_ported result = {view->port.nodes, view->port.bytes};
	char size[TEXT_HUMAN];

	progress_end(&view->bar);
	if (view->port.left_out)
		fprintf(stderr,
			"skep: warning: %lld device node%s omitted "
			"(--devices includes them)\n",
			(long long)view->port.left_out,
			view->port.left_out == 1 ? " was" : "s were");
	if (rc == 0 && !view->silent)
		output_result(&cli->out, &vfs_ported_shape, &result,
			      "%s: %lld files and directories, %s", done,
			      (long long)result.nodes,
			      text_human_bytes(result.bytes, size));
	return rc;
}
