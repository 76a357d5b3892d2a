#include "schema/agent/transcript/session_import_run.h"

#include "lib/base/id.h"

#include <inttypes.h>
#include <string.h>

/* A run that ended in the file; otherwise the import ends it. */
static const char *final_status(const cJSON *ev)
{
	static const char *const words[] = {"succeeded", "failed", "cancelled",
					    "timed_out", "aborted"};
	const char *type = json_text(ev, "type", "");
	const char *outcome = json_text(
		cJSON_GetObjectItemCaseSensitive(ev, "body"), "outcome", "");

	if (strcmp(type, "run_finished") != 0 && strcmp(type, "cancelled") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], outcome) == 0)
			return words[i];
	return NULL;
}

static int find_run(struct writer *w, const char *run_id, int64_t at,
		    struct run_row_local *row, struct arena *a, struct err *e)
{
	struct run_local_import_in in = {.run_id = run_id,
					 .session = w->session,
					 .after_seq = w->tail,
					 .at = at};
	struct run_local_get_in key = {run_id};

	return sql_exec(w->file->db, Q_RUN_LOCAL_IMPORT, &in, e) < 0 ||
			       sql_get(w->file->db, Q_RUN_LOCAL_GET, &key, row,
				       a, e) != 1
		       ? -1
		       : 0;
}

int session_import_run(struct writer *w, const cJSON *ev, struct arena *a,
		       struct err *e)
{
	const char *run_id = json_text(ev, "run", NULL);
	const char *status = final_status(ev);
	int64_t at = json_i64(ev, "at", 0);
	struct run_row_local row;
	struct run_local_imported_in end = {
		.session = w->session,
		.status = status,
		.reason = json_text(
			cJSON_GetObjectItemCaseSensitive(ev, "body"), "reason",
			NULL),
		.at = at};

	w->run = OPT_NONE;
	if (!run_id)
		return 0;
	if (!id_is(ID_RUN, run_id))
		return err_set(e, ERR_INVALID, "run must be the id of a run");
	if (find_run(w, run_id, at, &row, a, e))
		return -1;
	w->run = end.id = row.id;
	return status && sql_exec(w->file->db, Q_RUN_LOCAL_IMPORTED, &end, e) <
				       0
		       ? -1
		       : 0;
}
