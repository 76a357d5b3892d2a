#include "supervisor/run/attachments.h"
#include "supervisor/run/internal.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/event.h"
#include "schema/control/channel/attachment.h"

#include <string.h>

#define LIST "attachments"

/* ask->options as an object, with ask->attachments in it. */
static cJSON *merge(const struct run_request *req, struct err *e)
{
	const char *text = req->options ? req->options : "{}";
	cJSON *options = json_parse_object("options", text, strlen(text), e);
	cJSON *list;

	if (!options || !req->attachments)
		return options;
	list = json_parse(LIST, req->attachments, strlen(req->attachments), e);
	if (!list) {
		cJSON_Delete(options);
		return NULL;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(options, LIST);
	cJSON_AddItemToObject(options, LIST, list);
	return options;
}

int run_attach_store(struct supervisor *s, const struct run_request *req,
		     const char **options, struct arena *a, struct err *e)
{
	struct media_limits limits = {EVENT_BODY_MAX, EVENT_BODY_MAX, 0};
	struct buf b = BUF_MAX(RUN_OPTIONS_MAX);
	cJSON *v;
	int rc;

	*options = req->options;
	if (!req->attachments && (!*options || !strstr(*options, LIST)))
		return 0;
	v = merge(req, e);
	if (!v)
		return -1;
	rc = supervisor_attach(s, limits, v, e);
	if (rc == 0) {
		json_add(&b, v);
		rc = buf_ok(&b, "the options of a run", e);
	}
	if (rc == 0)
		*options = arena_textn(a, b.p, b.n);
	send_hint(s,
		  &(struct hint){
			  .kind = HINT_ATTACHMENTS}); /* known runs have them */
	cJSON_Delete(v);
	buf_fini(&b);
	return rc;
}

int run_attach_use(struct supervisor *s, const char *run, const char *options,
		   struct err *e)
{
	cJSON *v;
	int rc;

	if (!options || !strstr(options, LIST))
		return 0;
	v = json_parse_object("options", options, strlen(options), e);
	rc = v ? attachments_use(s->db, run, v, e) : -1;
	cJSON_Delete(v);
	return rc;
}

int run_attach_prompt(struct supervisor *s, const char *run,
		      const char **prompt, struct arena *a, struct err *e)
{
	struct home_path dir = home_path(&s->home, HOME_MEDIA);
	struct buf b = BUF_MAX(RUN_PROMPT_MAX * 2);
	int n;

	buf_adds(&b, *prompt);
	n = attachments_add_lines(s->db, run, dir.text, &b, a, e);
	if (n >= 0 && buf_ok(&b, "the prompt with its attachments", e))
		n = -1;
	if (n > 0)
		*prompt = arena_textn(a, b.p, b.n);
	buf_fini(&b);
	return n < 0 ? -1 : 0;
}
