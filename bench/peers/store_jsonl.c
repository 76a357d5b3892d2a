/* A file of JSON lines with fdatasync, as many agents use it. */
#include "bench/suites/store.h"
#include "lib/os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct jsonl {
	int fd;
	struct buf out;
	char path[4096];
};

static int open_jsonl(void **out, const char *dir, const char *session,
		      struct err *e)
{
	struct jsonl *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	snprintf(s->path, sizeof s->path, "%s/%s.jsonl", dir, session);
	buf_init(&s->out, 1u << 30);
	s->fd = open(s->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (s->fd < 0) {
		err_errno_set(e, "%s", s->path);
		free(s);
		return -1;
	}
	*out = s;
	return 0;
}

static int append_jsonl(void *store, const struct store_event *ev, size_t n,
			struct err *e)
{
	struct jsonl *s = store;

	buf_clear(&s->out);
	for (size_t i = 0; i < n; i++) {
		buf_add(&s->out, ev[i].json, ev[i].n);
		buf_addc(&s->out, '\n');
	}
	if (file_write_fd(s->fd, s->path, s->out.p, s->out.n, e))
		return -1;
	return fdatasync(s->fd) ? err_errno_set(e, "%s", s->path) : 0;
}

static int read_jsonl(void *store,
		      int (*each)(void *arg, const char *json, size_t n),
		      void *arg, struct err *e)
{
	struct jsonl *s = store;
	int stop = 0;

	buf_clear(&s->out);
	if (file_read(s->path, &s->out, e))
		return -1;
	for (const char *at = s->out.p; *at && !stop;) {
		size_t n = strcspn(at, "\n");

		stop = each(arg, at, n);
		at += n + (at[n] == '\n');
	}
	return 0;
}

static void close_jsonl(void *store)
{
	struct jsonl *s = store;

	close(s->fd);
	buf_fini(&s->out);
	free(s);
}

const struct store_kind store_jsonl = {
	.name = "jsonl",
	.what = "a file of JSON lines, fdatasync after each append",
	.open = open_jsonl,
	.append = append_jsonl,
	.read = read_jsonl,
	.close = close_jsonl,
};
