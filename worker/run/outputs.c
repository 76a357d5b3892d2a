#include "worker/run/outputs.h"

#include "lib/json/json.h"
#include "schema/agent/artifact.h"
#include "worker/workspace/workspace.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATHS_MAX 256

static int add_piece(void *arg, const void *p, size_t n, struct err *e)
{
	return artifact_write(arg, p, n, e);
}

/* An existing file becomes an artifact; a missing one is not an error yet. */
static int collect_output(struct run *r, struct files *s, const char *path,
			  struct err *e)
{
	struct artifact_key key = artifact_key_run(r->start->run, path);
	struct artifact_about about = {0};
	struct artifact_writer *w;
	struct id aid;
	int rc;

	if (artifact_writer_open(&w, r->transcript.file.db, &key, &about, e))
		return -1;
	rc = s->kind->pieces(s, path, add_piece, w, e);
	if (rc == 0)
		rc = artifact_commit(w, &aid, e);
	else if (e->code == ERR_NOTFOUND)
		rc = 0;
	else
		err_wrap(e, "artifact");
	artifact_writer_close(w);
	return rc;
}

static int collect_list(struct run *r, struct files *s, const cJSON *list,
			struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		if (!cJSON_IsString(v))
			return err_set(e, ERR_INVALID,
				       "artifacts: a path is not a string");
		if (s->kind && collect_output(r, s, v->valuestring, e))
			return -1;
	}
	return 0;
}

static int check_required(struct run *r, const cJSON *list, struct err *e)
{
	const char *paths[PATHS_MAX];
	size_t n = 0;
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		if (n == PATHS_MAX)
			return err_set(e, ERR_INVALID,
				       "artifacts: more than %d are required",
				       PATHS_MAX);
		paths[n++] = v->valuestring;
	}
	return artifact_check_required(r->transcript.file.db, r->start->run,
				       paths, n, e);
}

/* A driver that needs no workspace may still have a directory. */
static void open_output(struct run *r, struct files *s)
{
	const struct msg_start *m = r->start;
	int fd = -1;

	if (m->workspace && strcmp(m->workspace_mode, "disk") == 0)
		fd = open(m->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		files_dir(s, "", fd);
}

static int collect_outputs(struct run *r, const cJSON *declared, struct err *e)
{
	const cJSON *keep = cJSON_GetObjectItemCaseSensitive(declared, "keep");
	const cJSON *required = cJSON_GetObjectItemCaseSensitive(declared,
								 "required");
	struct files given = {0}, *s = &given;
	int rc;

	if (r->workspace)
		s = &r->workspace->store;
	else
		open_output(r, s);
	rc = collect_list(r, s, keep, e);
	if (!rc)
		rc = collect_list(r, s, required, e);
	files_close(&given);
	return rc ? rc : check_required(r, required, e);
}

int outputs_collect(struct run *r, struct run_end *end, struct err *e)
{
	const char *text = r->start->artifacts;
	cJSON *declared;
	int rc;

	if (!text || !r->transcript.open || end->reason == REASON_stale ||
	    end->reason == REASON_refused)
		return 0;
	declared = json_parse_object("artifacts", text, strlen(text), e);
	if (!declared)
		return -1;
	rc = collect_outputs(r, declared, e);
	cJSON_Delete(declared);
	/* a run that failed keeps its own reason */
	if (rc && end->reason == REASON_completed &&
	    (e->code == ERR_INVALID || e->code == ERR_DENIED)) {
		end->reason = REASON_artifact_missing;
		snprintf(end->detail, sizeof end->detail, "%s", e->text);
	}
	return rc && end->reason == REASON_completed ? -1 : 0;
}
