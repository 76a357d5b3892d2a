#include "supervisor/api/openai/response_id.h"

#include <string.h>

#include "lib/base/text.h"

static const char run_prefix[] = "run_", response_prefix[] = "resp_";

const char *openai_response_id(const char *run, char out[OPENAI_ID_SIZE])
{
	text_printf(out, OPENAI_ID_SIZE, "%s%s", response_prefix,
		    run + strlen(run_prefix));
	return out;
}

int openai_response_run(const char *response, char out[ID_SIZE], struct err *e)
{
	size_t n = strlen(response_prefix);

	if (strncmp(response, response_prefix, n) == 0 &&
	    strlen(response + n) + sizeof run_prefix <= ID_SIZE) {
		text_printf(out, ID_SIZE, "%s%s", run_prefix, response + n);
		if (id_is(ID_RUN, out))
			return 0;
	}
	return err_set(e, ERR_NOTFOUND, "there is no response %s",
		       quoted(response).text);
}
