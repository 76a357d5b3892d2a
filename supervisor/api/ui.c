/* The files of the dashboard. */
#include "web/files.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

#define DEVELOPMENT_MAX (1 << 20)

/* Transcripts and files are hostile text. The page builds its DOM from text
 * only; if it ever did not, these rules would still allow no script but ours. */
#define CONTENT_POLICY                                                      \
	"default-src 'none'; script-src 'self'; style-src 'self'; "         \
	"img-src 'self' data: blob:; media-src blob:; connect-src 'self'; " \
	"worker-src 'self'; manifest-src 'self'; form-action 'none'; "      \
	"frame-ancestors 'none'; base-uri 'none'; "                         \
	"require-trusted-types-for 'script'; trusted-types skep"

static const struct web_file *find_file(const char *name)
{
	for (size_t i = 0; i < web_nfiles; i++)
		if (strcmp(web_files[i].name, name) == 0)
			return &web_files[i];
	return NULL;
}

static void add_headers(struct http_reply *r)
{
	http_reply_header(r, "Cache-Control", "no-cache");
	http_reply_header(r, "Content-Security-Policy", CONTENT_POLICY);
	http_reply_header(r, "Referrer-Policy", "no-referrer");
	http_reply_header(r, "Cross-Origin-Opener-Policy", "same-origin");
	http_reply_header(r, "Cross-Origin-Resource-Policy", "same-origin");
}

/* For development: SKEP_WEB_DIR has the files, as they are edited. Only names
 * of the table are read. */
static int send_from_directory(struct api_request *q, const char *dir,
			       const struct web_file *f, struct err *e)
{
	struct buf path = BUF_MAX(4096), b = BUF_MAX(DEVELOPMENT_MAX);
	int rc;

	buf_addf(&path, "%s/%s", dir, f->name);
	rc = file_read(path.p, &b, e);
	if (rc == 0) {
		add_headers(q->reply);
		http_reply_bytes(q->reply, 200, f->type, b.p, b.n);
	}
	buf_fini(&path);
	buf_fini(&b);
	return rc;
}

static int send_embedded(struct api_request *q, const struct web_file *f,
			 struct err *e)
{
	const char *known = http_header(q->http, "If-None-Match");
	const char *accept = http_header(q->http, "Accept-Encoding");

	if (!accept || !strstr(accept, "gzip"))
		return err_set(e, ERR_UNSUPPORTED,
			       "the dashboard is sent only to clients that "
			       "accept gzip (curl --compressed)");
	add_headers(q->reply);
	http_reply_header(q->reply, "ETag", f->etag);
	http_reply_header(q->reply, "Vary", "Accept-Encoding");
	if (known && strstr(known, f->etag)) {
		http_reply_empty(q->reply, 304);
		return 0;
	}
	http_reply_header(q->reply, "Content-Encoding", "gzip");
	http_reply_bytes(q->reply, 200, f->type, f->gzip,
			 (size_t)(f->gzip_end - f->gzip));
	return 0;
}

static int need_listen(struct api_request *q, struct err *e)
{
	if (http_server_port(q->api->server))
		return 0;
	return err_set(e, ERR_NOTFOUND,
		       "the dashboard is off, because http.listen is not set");
}

static int send_file(struct api_request *q, const char *name, struct err *e)
{
	const char *dir = getenv("SKEP_WEB_DIR");
	const struct web_file *f = find_file(name);

	if (need_listen(q, e))
		return -1;
	if (!f)
		return err_set(e, ERR_NOTFOUND, "the dashboard has no file %s",
			       quoted(name).text);
	return dir ? send_from_directory(q, dir, f, e) : send_embedded(q, f, e);
}

static void answer_with_file(struct api_request *q, const char *name)
{
	struct err e = {0};

	if (send_file(q, name, &e))
		request_fail(q, &e);
	else
		request_free(q);
}

void route_ui_page(struct api_request *q)
{
	answer_with_file(q, "index.html");
}

void route_ui_file(struct api_request *q)
{
	answer_with_file(q, http_param(q->http, "file"));
}

/* The location is relative, so that it is right behind a reverse proxy. */
void route_ui_redirect(struct api_request *q)
{
	struct err e = {0};

	if (need_listen(q, &e)) {
		request_fail(q, &e);
		return;
	}
	http_reply_header(q->reply, "Location", "ui/");
	http_reply_empty(q->reply, 308);
	request_free(q);
}
