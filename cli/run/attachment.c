#include "cli/run/attachment.h"

#include "cli/cli.h"
#include "lib/json/base64.h"
#include "lib/json/json.h"

#include <string.h>

#define FILE_MAX_BYTES ((size_t)64 << 20)

int attachment_add(const char *path, struct buf *json, struct err *e)
{
	const char *slash = strrchr(path, '/');
	const char *name = strcmp(path, "-") == 0 ? "stdin"
			   : slash                ? slash + 1
						  : path;
	struct buf bytes = BUF_MAX(FILE_MAX_BYTES);
	int rc = cli_read(path, &bytes, e);

	if (rc == 0)
		rc = buf_ok(&bytes, path, e);
	if (rc == 0) {
		json_begin_object(json);
		json_put_text(json, "name", name);
		json_key(json, "base64");
		json_begin_string(json);
		base64_add(json, bytes.p, bytes.n);
		json_end_string(json);
		json_end_object(json);
		rc = buf_ok(json, "the request with its attachments", e);
	}
	buf_fini(&bytes);
	return rc;
}
