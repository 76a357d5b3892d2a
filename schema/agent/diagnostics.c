#include "schema/agent/diagnostics.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/agent_queries.h"

#include <inttypes.h>
#include <string.h>

#define AREA_MAX 64
#define PAGE     64 /* rows read between two writes to fd */

int diagnostics_limit(struct sql *db, int64_t otherwise, int64_t *rows,
		      struct err *e)
{
	struct diagnostic_limit_get_row row;
	int found = sql_get(db, Q_DIAGNOSTIC_LIMIT_GET, NULL, &row, NULL, e);

	if (found >= 0)
		*rows = found ? row.rows : otherwise;
	return found < 0 ? -1 : 0;
}

static int set_limit(struct sql *db, int64_t rows, struct err *e)
{
	if (sql_exec(db, Q_DIAGNOSTIC_LIMIT_PUT,
		     &(struct diagnostic_limit_put_in){rows}, e) < 0)
		return -1;
	return sql_exec(db, Q_DIAGNOSTIC_TRIM,
			&(struct diagnostic_trim_in){rows}, e) < 0
		       ? -1
		       : 0;
}

int diagnostics_set(struct sql *db, int64_t rows, struct err *e)
{
	if (rows < 0 || rows > DIAGNOSTICS_ROWS_MAX)
		return err_set(e, ERR_USAGE,
			       "%" PRId64 " diagnostics cannot be kept: "
			       "0 (off) to %d",
			       rows, DIAGNOSTICS_ROWS_MAX);
	if (sql_enter(db, e))
		return -1;
	return sql_leave(db, set_limit(db, rows, e), e);
}

/* The longest prefix of body that fits and does not end inside a character. */
static size_t fitting(const char *body, size_t n)
{
	if (n <= DIAGNOSTICS_BODY_MAX)
		return n;
	n = DIAGNOSTICS_BODY_MAX;
	while (n > 0 && ((unsigned char)body[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static int add_row(struct sql *db, int64_t rows,
		   const struct diagnostic_add_in *in, struct err *e)
{
	if (sql_exec(db, Q_DIAGNOSTIC_ADD, in, e) < 0 ||
	    sql_exec(db, Q_DIAGNOSTIC_TRIM, &(struct diagnostic_trim_in){rows},
		     e) < 0)
		return -1;
	return 1;
}

int diagnostics_add(struct sql *db, int64_t otherwise, const char *area,
		    const char *subject, const char *body, struct err *e)
{
	struct diagnostic_add_in in = {
		.at = clock_now(), .area = area, .subject = subject};
	struct arena a = {0};
	size_t n = strlen(body), fits = fitting(body, n);
	int64_t rows;
	int rc;

	/* Usually off: that takes no write lock. */
	if (diagnostics_limit(db, otherwise, &rows, e))
		return -1;
	if (rows == 0)
		return 0;
	if (text_check_key("the diagnostics' area", area, AREA_MAX, e))
		return -1;
	in.is_cut = fits < n;
	in.body = in.is_cut ? arena_textn(&a, body, fits) : body;
	if (sql_enter(db, e))
		rc = -1;
	else
		rc = sql_leave(db, add_row(db, rows, &in, e), e);
	arena_fini(&a);
	return rc;
}

/* Writes one page as lines to b; *after moves to its last row. */
static int export_page(struct sql *db, const char *area, int64_t *after,
		       struct buf *b, struct err *e)
{
	struct diagnostic_list_in in = {area, *after, PAGE};
	struct diagnostic_list_row row;
	struct sql_rows it = sql_rows(db, Q_DIAGNOSTIC_LIST, &in);
	int n = 0;

	while (sql_next(&it, &row)) {
		json_add_shape(b, &diagnostic_list_row_shape, &row);
		buf_addc(b, '\n');
		*after = row.id;
		n++;
	}
	return sql_end(&it, e) || buf_ok(b, "a page of diagnostics", e) ? -1
									: n;
}

int diagnostics_export(struct sql *db, const char *area, int fd, struct err *e)
{
	struct buf b = BUF_MAX((size_t)PAGE * DIAGNOSTICS_BODY_MAX * 7);
	int64_t after = 0;
	int total = 0, n;

	do {
		buf_clear(&b);
		n = export_page(db, area, &after, &b, e);
		if (n > 0 && file_write_fd(fd, "diagnostics", b.p, b.n, e))
			n = -1;
		total += n;
	} while (n == PAGE);
	buf_fini(&b);
	return n < 0 ? -1 : total;
}
