#include "supervisor/api/data_url.h"

#include <string.h>

#include "lib/json/json_write.h"

static const char scheme[] = "data:", encoding[] = ";base64,";

int data_url_attach(const char *url, const char *name, const char *type,
		    struct buf *attachments, struct err *e)
{
	const char *from = url + strlen(scheme);
	const char *data = strstr(url, encoding);
	size_t n = data ? (size_t)(data - from) : 0;

	if (!data)
		return err_set(e, ERR_INVALID,
			       "a data URL of a file must be in base64");
	json_begin_object(attachments);
	json_put_text(attachments, "name", name);
	json_key(attachments, "type");
	if (type || n == 0)
		json_add_text(attachments,
			      type ? type : "application/octet-stream");
	else
		json_add_string(attachments, from, n);
	json_put_text(attachments, "base64", data + strlen(encoding));
	json_end_object(attachments);
	return 0;
}
