#include "supervisor/api/openai/error.h"

#include <string.h>

#include "lib/json/json_write.h"

void openai_error_add(struct buf *out, const char *type, const char *code,
		      const char *message)
{
	json_begin_object(out);
	json_put_object(out, "error");
	json_put_text(out, "message", message);
	json_put_text(out, "type", type);
	json_put_null(out, "param");
	json_put_text(out, "code", code);
	json_end_object(out);
	json_end_object(out);
}

static const char *type_of(int status)
{
	switch (status) {
	case 401:
		return "authentication_error";
	case 403:
		return "permission_error";
	case 429:
		return "rate_limit_error";
	default:
		return status < 500 ? "invalid_request_error" : "server_error";
	}
}

bool openai_error_body(const char *path, const struct err *e, struct buf *out)
{
	if (!path || strncmp(path, "/openai/", 8) != 0)
		return false;
	openai_error_add(out, type_of(err_http_status(e->code)),
			 err_name(e->code), e->text);
	return true;
}
