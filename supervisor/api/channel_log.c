/* The last lines of a plugin's log. */
#include <string.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "lib/os/rotated_log.h"
#include "schema/control/channel/channel.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/channel/plugin/log.h"

#define BOTH_MAX (4u * PLUGIN_LOG_MAX) /* the file, and the one before it */

static void add_lines(struct buf *out, const char *p, const char *end)
{
	list_begin(out);
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((eol ? eol : end) - p);

		json_begin_object(out);
		json_key(out, "line");
		json_add_string(out, p, n); /* the line may contain any byte */
		json_end_object(out);
		p += n + (eol != NULL);
	}
	list_end(out, NULL);
}

static int read_both(const char *path, struct buf *b, struct err *e)
{
	int fds[2], rc = 0;

	rotated_log_open(path, fds);
	for (int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		if (rc == 0)
			rc = file_read_fd(fds[i], path, b, e);
		close(fds[i]);
	}
	return rc;
}

/* In a thread: they may be large. q->id is the path. */
static int read_log(struct api_request *q, struct buf *out, struct err *e)
{
	struct buf b = BUF_MAX(BOTH_MAX);
	struct channel_row row;
	int rc;

	if (channels_get(q->db, q->key, &row, &q->arena, e))
		return -1;
	if (strcmp(row.kind, "plugin") != 0)
		return err_set(e, ERR_CONFLICT,
			       "%s is a %s channel; only plugins have a log",
			       q->key, row.kind);
	rc = read_both(q->id, &b, e);
	if (rc == 0)
		add_lines(out, text_last_lines(b.p, b.n, q->limit), b.p + b.n);
	buf_fini(&b);
	return rc;
}

void route_channel_log(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->key = request_param(q, "name");
	q->id = arena_text(&q->arena,
			   plugin_log_path(q->api->sup, q->key).text);
	request_read_async(q, read_log);
}
