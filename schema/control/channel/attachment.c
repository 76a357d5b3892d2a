#include "schema/control/channel/attachment.h"

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/json/base64.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "schema/control/channel/media_type.h"

#include <ctype.h>
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

/* A name as one component of a path. Characters that could end it for a reader
 * of the prompt become '_', and so does a first character that would make it an
 * option or a hidden file. */
static void safe_name(const char *name, char out[NAME_MAX_BYTES + 1])
{
	const char *last = strrchr(name, '/');
	size_t n = 0, left, step;

	name = last ? last + 1 : name;
	for (left = strlen(name); left > 0; name += step, left -= step) {
		step = text_utf8_char(name, left);
		if (n + step > NAME_MAX_BYTES)
			break;
		if (step > 1) {
			memcpy(out + n, name, step);
			n += step;
			continue;
		}
		step = 1;
		out[n++] = isalnum((unsigned char)*name) ||
					   strchr("._-+,=@%", *name)
				   ? *name
				   : '_';
	}
	out[n] = '\0';
	if (n == 0 || !strcmp(out, ".") || !strcmp(out, ".."))
		snprintf(out, NAME_MAX_BYTES, "attachment");
	if (out[0] == '.' || out[0] == '-')
		out[0] = '_';
}

/* Created completely, without following links: a process that can see the
 * directory may write to it. */
static bool is_made(const char *path, int64_t size)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_size == size;
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
	/* A name without a number never looks like one with a number. */
	*path = m->idx || isdigit((unsigned char)name[0])
			? arena_printf(a, "%s/%lld-%s", sub, (long long)m->idx,
				       name)
			: arena_printf(a, "%s/%s", sub, name);
	if (is_made(*path, m->size)) { /* gc sees that it is in use */
		utimensat(AT_FDCWD, *path, now, AT_SYMLINK_NOFOLLOW);
		return 0;
	}
	found = sql_get(db, Q_MEDIA_BYTES, &(struct media_bytes_in){m->media},
			&row, a, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "attachment %s was deleted",
			       m->media);
	if (found < 0 || file_make_dir(sub, 0700, e))
		return -1;
	return atomic_file_write(*path, row.bytes.p, row.bytes.n, 0600, e);
}

int attachments_materialise(struct sql *db, const char *owner, const char *dir,
			    struct err *e)
{
	struct media_use_row *rows;
	struct arena a = {0};
	const char *path;
	int n = sql_collect(db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){owner}, ATTACHMENTS_MAX,
			    &rows, &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; i < n && rc == 0; i++)
		rc = blob_materialise(db, &rows[i], dir, &path, &a, e);
	arena_fini(&a);
	return rc;
}

int attachments_add_lines(struct sql *db, const char *owner, const char *dir,
			  struct buf *prompt, struct arena *a, struct err *e)
{
	struct media_use_row *rows;
	int n = sql_collect(db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){owner}, ATTACHMENTS_MAX,
			    &rows, a, e);

	for (int i = 0; i < n; i++) {
		const char *path;

		if (blob_materialise(db, &rows[i], dir, &path, a, e))
			return -1;
		buf_addf(prompt, "%s[attachment %s (%s, %lld bytes): %s]",
			 prompt->n ? "\n" : "", quoted(rows[i].name).text,
			 rows[i].mime, (long long)rows[i].size, path);
	}
	return n;
}

/* --- of a message ----------------------------------------------------- */

static void set_stored(cJSON *item, const struct media_row *row)
{
	cJSON_DeleteItemFromObject(item, "base64");
	cJSON_DeleteItemFromObject(item, "media");
	cJSON_DeleteItemFromObject(item, "size");
	cJSON_DeleteItemFromObject(item, "sha256");
	cJSON_DeleteItemFromObject(item, "type");
	cJSON_AddStringToObject(item, "media", row->id);
	cJSON_AddNumberToObject(item, "size", (double)row->size);
	cJSON_AddStringToObject(item, "sha256", row->sha256);
	cJSON_AddStringToObject(item, "type", row->mime);
}

static int decode_content(const cJSON *item, int64_t max, struct buf *bytes,
			  struct err *e)
{
	const char *text = json_text(item, "base64", "");

	buf_init(bytes, (size_t)max);
	if (base64_decode(bytes, text, strlen(text), e) == 0)
		return 0;
	err_wrap(e, "attachment %s", quoted(json_text(item, "name", "")).text);
	return -1;
}

/* Returns 1 if the bytes are new, 0 if they are stored already. */
static int weigh_bytes(struct sql *db, const cJSON *item, int64_t max,
		       int64_t *size, struct err *e)
{
	struct media_row row;
	struct arena a = {0};
	char hash[HASH_HEX];
	struct media_by_hash_in key = {hash};
	struct buf bytes;
	int found = decode_content(item, max, &bytes, e);

	*size = (int64_t)bytes.n;
	hash_of(bytes.p, bytes.n, hash);
	buf_fini(&bytes);
	if (found == 0)
		found = sql_get(db, Q_MEDIA_BY_HASH, &key, &row, &a, e);
	arena_fini(&a);
	return found < 0 ? -1 : !found;
}

/* The row of the media that an attachment names, or of its stored bytes. */
static int find_row(struct sql *db, const char *id, struct media_row *row,
		    struct arena *a, struct err *e)
{
	int found = sql_get(db, Q_MEDIA_GET, &(struct media_get_in){id}, row, a,
			    e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no attachment %s",
			       quoted(id).text);
	return found < 0 ? -1 : 0;
}

/* Checks before anything is written, since the transaction is shared with
 * others. */
static int weigh(struct sql *db, const cJSON *item, int64_t max,
		 struct media_limits *l, struct err *e)
{
	const char *media = json_text(item, "media", NULL);
	struct media_row row;
	struct arena a = {0};
	int64_t size = 0;
	int is_new = 0;

	if (!cJSON_IsObject(item) ||
	    (!json_text(item, "base64", NULL) && !media))
		return err_set(e, ERR_INVALID,
			       "an attachment needs either base64 or media");
	if (media) {
		is_new = find_row(db, media, &row, &a, e);
		size = is_new ? 0 : row.size;
		arena_fini(&a);
	} else {
		is_new = weigh_bytes(db, item, l->one, &size, e);
	}
	if (is_new < 0)
		return -1;
	l->all -= size;
	l->room -= is_new ? size : 0;
	if (l->all < 0)
		return err_set(e, ERR_TOOBIG,
			       "the attachments of a message are limited to "
			       "%lld bytes (media_sum of its channel)",
			       (long long)max);
	if (is_new && l->room < 0)
		return err_set(e, ERR_QUOTA,
			       "the total size of attachments reached "
			       "channel.media_total; raise the limit, or "
			       "remove an unused channel with 'skep channel "
			       "rm'");
	return 0;
}

static int store_one(struct sql *db, cJSON *item, int64_t max, struct err *e)
{
	const char *media = json_text(item, "media", NULL);
	char room[MEDIA_TYPE_MAX];
	struct media_row row;
	struct arena a = {0};
	struct buf bytes;
	struct blob blob;
	struct id id;
	int rc = 0;

	if (!media) {
		rc = decode_content(item, max, &bytes, e);
		blob = (struct blob){bytes.p, bytes.n};
		if (rc == 0)
			rc = blob_put(db,
				      media_type(json_text(item, "type", NULL),
						 blob, room),
				      blob, &id, e);
		buf_fini(&bytes);
	}
	if (rc == 0)
		rc = find_row(db, media ? media : id.text, &row, &a, e);
	if (rc == 0)
		set_stored(item, &row);
	arena_fini(&a);
	return rc;
}

int attachments_store(struct sql *db, cJSON *body, struct media_limits *l,
		      struct err *e)
{
	cJSON *list = cJSON_GetObjectItem(body, "attachments"), *item;

	int64_t max = l->all;

	if (!list)
		return 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > ATTACHMENTS_MAX)
		return err_set(e, ERR_INVALID,
			       "attachments must be an array of at most %d",
			       ATTACHMENTS_MAX);
	cJSON_ArrayForEach(item, list)
	{
		if (weigh(db, item, max, l, e))
			return -1;
	}
	cJSON_ArrayForEach(item, list)
	{
		if (store_one(db, item, l->one, e))
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
