#include "worker/driver/acp/acp.h"

#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"

#include <string.h>

/* Is the event at seq, in this session, still visible? */
static int is_shown(struct transcript *j, int64_t seq, struct arena *a,
		    struct err *e)
{
	int64_t session = j->writer.session;
	struct history h;

	if (history_load(&j->file, session, HISTORY_PATH, &h, a, e))
		return -1;
	for (int i = 0; i < h.count; i++)
		if (h.segments[i].session == session &&
		    seq >= h.segments[i].first && seq <= h.segments[i].last)
			return 1;
	return 0;
}

/* A fork copies meta: ignore the values of another session. */
static int read_saved(struct acp *x, const char *meta, const char **id,
		      struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct arena *a = &x->run->arena;
	cJSON *v = json_parse_object("meta", meta, strlen(meta), e);
	const cJSON *kept = cJSON_GetObjectItemCaseSensitive(v, "acp");
	const cJSON *cost = cJSON_GetObjectItemCaseSensitive(kept, "cost");
	const char *session = json_text(kept, "session", NULL);
	int shown = 0;

	if (v && session && !strcmp(json_text(kept, "of", ""), j->writer.sid))
		shown = is_shown(j, json_i64(kept, "seq", 0), a, e);
	if (shown > 0) {
		*id = arena_text(a, session);
		x->cost = cJSON_IsNumber(cost) ? cost->valuedouble : 0;
	}
	cJSON_Delete(v);
	return v && shown >= 0 ? 0 : -1;
}

int acp_session_find(struct acp *x, const char **id, struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct arena a = {0};
	struct session_row row;
	int rc = session_need(&j->file, j->writer.sid, &row, &a, e);

	*id = NULL;
	if (rc == 0)
		rc = read_saved(x, row.meta, id, e);
	arena_fini(&a);
	return rc;
}

int acp_session_save(struct acp *x, struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct buf b = BUF_MAX(64u << 10);
	struct arena a = {0};
	struct session_row row;
	int rc;

	json_begin_object(&b);
	json_put_object(&b, "meta");
	json_put_object(&b, "acp");
	json_put_text(&b, "session", x->session);
	json_put_text(&b, "of", j->writer.sid);
	json_put_int(&b, "seq", j->writer.tail);
	json_key(&b, "cost");
	json_add_real(&b, x->cost);
	for (int i = 0; i < 3; i++)
		json_end_object(&b);
	rc = buf_ok(&b, "the agent's session id", e);
	if (rc == 0)
		rc = session_patch(&j->file, j->writer.sid, b.p, 0, &row, &a,
				   e);
	arena_fini(&a);
	buf_fini(&b);
	return rc;
}
