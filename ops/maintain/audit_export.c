#include "ops/maintain/audit_export.h"

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/control_queries.h"

#include <fcntl.h>
#include <unistd.h>

#define LINES_MAX (64u << 20) /* of one page */
#define PAGE      500

/* Appends lines for the rows after *last: how many, or -1. */
static int add_page(struct sql *control, int64_t *last, struct buf *out,
		    struct err *e)
{
	struct audit_after_in in = {*last, PAGE};
	struct sql_rows it = sql_rows(control, Q_AUDIT_AFTER, &in);
	struct audit_row row;
	int n = 0;

	while (sql_next(&it, &row)) {
		json_add_shape(out, &audit_row_shape, &row);
		buf_addc(out, '\n');
		*last = row.id;
		n++;
	}
	return sql_end(&it, e) || buf_ok(out, "the audit log", e) ? -1 : n;
}

static int write_archive(struct sql *control, int fd, const char *path,
			 struct err *e)
{
	struct buf b = BUF_MAX(LINES_MAX);
	int64_t last = 0;
	int n = PAGE;

	while (n == PAGE) {
		buf_clear(&b);
		n = add_page(control, &last, &b, e);
		if (n > 0 && file_write_fd(fd, path, b.p, b.n, e))
			n = -1;
	}
	buf_fini(&b);
	if (n >= 0 && fsync(fd))
		return err_errno_set(e, "%s", path);
	return n < 0 ? -1 : file_sync_parent(path, e);
}

int audit_archive(struct sql *control, const struct home *home, struct err *e)
{
	struct home_path dir = home_path(home, HOME_LOGS);
	struct home_path path = home_join(home, HOME_LOGS, AUDIT_FILE);
	int fd, rc;

	if (file_make_dir(dir.text, 0700, e))
		return -1;
	fd = open(path.text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno_set(e, "%s", path.text);
	rc = write_archive(control, fd, path.text, e);
	close(fd);
	return rc;
}
