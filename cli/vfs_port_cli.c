#include "cli/vfs_port_cli.h"

#include "base/text.h"

#define PORTED(F, S) F(S, i64, nodes) F(S, i64, bytes)
SHAPE_DECLARE(vfs_ported, PORTED);
SHAPE_DEFINE(vfs_ported, PORTED);

static void tell(void *arg, int64_t nodes, int64_t bytes)
{
	struct port_view *view = arg;

	(void)bytes;
	progress_at(&view->bar, nodes);
}

void port_begin(struct cli *cli, struct port_view *view, const char *path,
		const char *what)
{
	*view = (struct port_view){
		.port = {.path = path ? path : "", .tell = tell, .arg = view}};
	progress_begin(&view->bar, &cli->out, what, 0);
}

int port_end(struct cli *cli, struct port_view *view, int rc)
{
	struct vfs_ported said = {view->port.nodes, view->port.bytes};

	progress_end(&view->bar);
	if (rc == 0 && !view->silent)
		output_object(&cli->out, &vfs_ported_shape, &said);
	return rc;
}
