#include "schema/blobs.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ATTACHMENTS_MAX 64
#define NAME_MAX_BYTES  200
#define PATH_ROOM       4096

int blob_put(struct sql *db, const char *mime, struct blob bytes, struct id *id,
	     struct err *e)
{
	struct media_row row;
	struct arena a = {0};
	char hash[HASH_HEX];
	struct media_by_hash_in key = {hash};
	int found;

	hash_of(bytes.p, bytes.n, hash);
	found = sql_get(db, Q_MEDIA_BY_HASH, &key, &row, &a, e);
	if (found == 1)
		snprintf(id->text, sizeof id->text, "%s", row.id);
	arena_fini(&a);
	if (found != 0)
		return found < 0 ? -1 : 0;
	*id = id_new(ID_MEDIA);
	return sql_exec(db, Q_MEDIA_ADD,
			&(struct media_add_in){
				.id = id->text,
				.sha256 = hash,
				.mime = mime,
				.size = (int64_t)bytes.n,
				.bytes = bytes,
				.now = clock_now(),
			},
			e) < 0
		       ? -1
		       : 0;
}

/* A name as one component of a path: what is none becomes '_'. */
static void safe_name(const char *name, char out[NAME_MAX_BYTES + 1])
{
	const char *last = strrchr(name, '/');
	size_t n = 0;

	for (name = last ? last + 1 : name; *name && n < NAME_MAX_BYTES; name++)
		out[n++] = (unsigned char)*name < 32 || *name == 127 ? '_'
								     : *name;
	out[n] = '\0';
	if (n == 0 || out[0] == '.')
		snprintf(out, NAME_MAX_BYTES, "attachment");
}

int blob_materialise(struct sql *db, const struct media_use_row *m,
		     const char *dir, const char **path, struct arena *a,
		     struct err *e)
{
	struct media_bytes_row row;
	char name[NAME_MAX_BYTES + 1], sub[PATH_ROOM];
	struct timespec now[2] = {{.tv_nsec = UTIME_NOW},
				  {.tv_nsec = UTIME_NOW}};
	int found;

	safe_name(m->name, name);
	snprintf(sub, sizeof sub, "%s/%s", dir, m->owner);
	*path = m->idx ? arena_printf(a, "%s/%lld-%s", sub, (long long)m->idx,
				      name)
		       : arena_printf(a, "%s/%s", sub, name);
	if (file_exists(*path)) { /* the sweep sees that it is in use */
		utimensat(AT_FDCWD, *path, now, 0);
		return 0;
	}
	found = sql_get(db, Q_MEDIA_BYTES, &(struct media_bytes_in){m->media},
			&row, a, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "attachment %s is gone",
			       m->media);
	if (found < 0 || file_make_dir(sub, 0700, e))
		return -1;
	return file_write_atomic(*path, row.bytes.p, row.bytes.n, 0600, e);
}

/* --- of a message ----------------------------------------------------- */

static void set_stored(cJSON *item, const struct media_row *row)
{
	cJSON_DeleteItemFromObject(item, "base64");
	cJSON_DeleteItemFromObject(item, "media");
	cJSON_DeleteItemFromObject(item, "size");
	cJSON_DeleteItemFromObject(item, "sha256");
	cJSON_AddStringToObject(item, "media", row->id);
	cJSON_AddNumberToObject(item, "size", (double)row->size);
	cJSON_AddStringToObject(item, "sha256", row->sha256);
	if (!cJSON_GetObjectItem(item, "type"))
		cJSON_AddStringToObject(item, "type", row->mime);
}

static int store_bytes(struct sql *db, const cJSON *item, int64_t max,
		       struct id *id, struct err *e)
{
	const char *text = json_text(item, "base64", NULL);
	const char *type = json_text(item, "type", "application/octet-stream");
	struct buf bytes = BUF_MAX((size_t)max);
	int rc = base64_decode(&bytes, text, strlen(text), e);

	if (rc == 0)
		rc = blob_put(db, type, (struct blob){bytes.p, bytes.n}, id, e);
	else
		err_wrap(e, "attachment %s",
			 quoted(json_text(item, "name", "")).text);
	buf_fini(&bytes);
	return rc;
}

static int store_one(struct sql *db, cJSON *item, int64_t max, struct err *e)
{
	const char *media = json_text(item, "media", NULL);
	struct media_row row;
	struct arena a = {0};
	struct id id;
	int found;

	if (!cJSON_IsObject(item) ||
	    (!json_text(item, "base64", NULL) && !media))
		return err_set(e, ERR_INVALID,
			       "an attachment has base64 or media");
	if (!media && store_bytes(db, item, max, &id, e))
		return -1;
	if (media)
		snprintf(id.text, sizeof id.text, "%s", media);
	found = sql_get(db, Q_MEDIA_GET, &(struct media_get_in){id.text}, &row,
			&a, e);
	if (found == 1)
		set_stored(item, &row);
	else if (found == 0)
		found = err_set(e, ERR_NOTFOUND, "there is no attachment %s",
				quoted(id.text).text);
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

int attachments_store(struct sql *db, cJSON *body, int64_t max, struct err *e)
{
	cJSON *list = cJSON_GetObjectItem(body, "attachments"), *item;

	if (!list)
		return 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > ATTACHMENTS_MAX)
		return err_set(e, ERR_INVALID,
			       "attachments are a list of at most %d",
			       ATTACHMENTS_MAX);
	cJSON_ArrayForEach(item, list)
	{
		if (store_one(db, item, max, e))
			return -1;
	}
	return 0;
}

int attachments_use(struct sql *db, const char *owner, const cJSON *body,
		    struct err *e)
{
	const cJSON *list = cJSON_GetObjectItem(body, "attachments"), *item;
	struct media_use_add_in in = {.owner = owner};

	cJSON_ArrayForEach(item, list)
	{
		in.media = json_text(item, "media", "");
		in.name = json_text(item, "name", "attachment");
		if (sql_exec(db, Q_MEDIA_USE_ADD, &in, e) < 0)
			return -1;
		in.idx++;
	}
	return 0;
}
