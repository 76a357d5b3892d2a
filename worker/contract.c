#include "worker/contract.h"

#include "base/json.h"
#include "base/text.h"
#include "schema/artifact.h"
#include "worker/below.h"
#include "worker/workspace.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATHS_MAX 256

static int keep_file(struct run *r, int fd, const char *path, struct err *e)
{
	struct artifact_key key = artifact_key_run(r->start->run, path);
	struct artifact_about about = {0};
	struct stat st;

	if (fstat(fd, &st))
		return err_errno_set(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is not a plain file",
			       quoted(path).text);
	return artifact_put_fd(r->ledger.file.db, &key, &about, fd, NULL, e);
}

/* A file that is there becomes an artifact; one that is not is no error yet. */
static int keep_one(struct run *r, int dir, const char *path, struct err *e)
{
	struct below below = {.fd = dir, .dir = ""};
	int fd = below_open(&below, path, O_RDONLY, 0, e), rc;

	if (fd < 0)
		return e->code == ERR_NOTFOUND ? 0 : err_wrap(e, "artifact");
	rc = keep_file(r, fd, path, e);
	close(fd);
	return rc;
}

static int keep_list(struct run *r, int dir, const cJSON *list, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		if (!cJSON_IsString(v))
			return err_set(e, ERR_INVALID,
				       "artifacts: a path is not a text");
		if (dir >= 0 && keep_one(r, dir, v->valuestring, e))
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
	return artifact_check_contract(r->ledger.file.db, r->start->run, paths,
				       n, e);
}

/* A driver that needed no workspace may still have been given a directory. */
static int open_workspace(struct run *r)
{
	const struct msg_start *s = r->start;

	if (r->workspace)
		return workspace_dir(r->workspace);
	if (!s->workspace || strcmp(s->workspace_mode, "disk") != 0)
		return -1;
	return open(s->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int settle(struct run *r, const cJSON *contract, struct err *e)
{
	const cJSON *keep = cJSON_GetObjectItemCaseSensitive(contract, "keep");
	const cJSON *required = cJSON_GetObjectItemCaseSensitive(contract,
								 "required");
	int dir = open_workspace(r);
	int rc = keep_list(r, dir, keep, e);

	if (!rc)
		rc = keep_list(r, dir, required, e);
	if (dir >= 0)
		close(dir);
	return rc ? rc : check_required(r, required, e);
}

int contract_settle(struct run *r, struct run_end *end, struct err *e)
{
	const char *text = r->start->artifacts;
	cJSON *contract;
	int rc;

	if (!text || !r->ledger.open || end->reason == REASON_stale ||
	    end->reason == REASON_refused)
		return 0;
	contract = json_parse_object("artifacts", text, strlen(text), e);
	if (!contract)
		return -1;
	rc = settle(r, contract, e);
	cJSON_Delete(contract);
	/* a run that ended badly keeps its own reason */
	if (rc && end->reason == REASON_completed &&
	    (e->code == ERR_INVALID || e->code == ERR_DENIED)) {
		end->reason = REASON_artifact_missing;
		snprintf(end->detail, sizeof end->detail, "%s", e->text);
	}
	return rc && end->reason == REASON_completed ? -1 : 0;
}
