/* Lines of the supervisor's log. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

#define LOG_TAIL (8 << 20) /* bytes that are searched */

static void add_log_line(struct buf *out, const char *p, size_t n)
{
	json_begin_object(out);
	json_key(out, "line");
	json_add_string(out, p, n); /* the line may contain any byte */
	json_end_object(out);
}

/* Newest first. */
static void add_matches(struct api_request *q, const struct buf *b,
			struct buf *out)
{
	const char *text = q->key ? q->key : "";
	const char *end = b->p + b->n;
	int64_t left = q->limit;

	list_begin(out);
	while (end > b->p && left > 0) {
		const char *eol = memrchr(b->p, '\n', (size_t)(end - b->p));
		const char *start = eol ? eol + 1 : b->p;
		size_t n = (size_t)(end - start);

		if (n > 0 && memmem(start, n, text, strlen(text))) {
			add_log_line(out, start, n);
			left--;
		}
		end = eol ? eol : b->p;
	}
	list_end(out, NULL);
}

/* In a thread. q->id is the path. */
static int read_log_tail(struct api_request *q, struct buf *out, struct err *e)
{
	struct buf b = BUF_MAX(LOG_TAIL + (1 << 20));
	int fd = open(q->id, O_RDONLY | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return err_set(e, ERR_NOTFOUND,
			       "skepd does not log to %s; see 'journalctl'",
			       q->id);
	if (fstat(fd, &st) == 0 && st.st_size > LOG_TAIL)
		lseek(fd, st.st_size - LOG_TAIL, SEEK_SET);
	rc = file_read_fd(fd, q->id, &b, e);
	close(fd);
	if (rc == 0)
		add_matches(q, &b, out);
	buf_fini(&b);
	return rc;
}

void route_log(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->key = request_query(q, "text");
	q->id = arena_text(&q->arena, home_join(supervisor_home(q->api->sup),
						HOME_LOGS, "skepd.log")
					      .text);
	request_read_async(q, read_log_tail);
}
