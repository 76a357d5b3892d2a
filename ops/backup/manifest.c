#include "ops/backup/manifest.h"

#include "lib/json/json.h"

#include <inttypes.h>
#include <string.h>

SHAPE_DEFINE(manifest_item, MANIFEST_ITEM);
SHAPE_DEFINE(manifest_head, MANIFEST_HEAD);

void manifest_begin(struct buf *b, const struct manifest_head *head)
{
	json_begin_object(b);
	json_put_fields(b, &manifest_head_shape, head);
	json_put_array(b, "items");
}

void manifest_add(struct buf *b, const struct manifest_item *item)
{
	json_add_shape(b, &manifest_item_shape, item);
}

void manifest_end(struct buf *b)
{
	struct buf compact = *b;

	json_end_array(&compact);
	json_end_object(&compact);
	*b = (struct buf)BUF_MAX(compact.max);
	json_indent(b, compact.p, 2); /* one item per line */
	b->over |= compact.over;
	buf_fini(&compact);
}

static void read_field(const cJSON *v, const struct field *f, void *out,
		       struct arena *a)
{
	void *at = field_out(f, out);

	if (f->type == FIELD_text && cJSON_IsString(v))
		*(field_text *)at = arena_text(a, v->valuestring);
	else if (f->type == FIELD_bool)
		*(field_bool *)at = cJSON_IsTrue(v);
	else if (cJSON_IsNumber(v))
		*(field_i64 *)at = (int64_t)v->valuedouble;
}

static void read_shape(const cJSON *obj, const struct shape *s, void *out,
		       struct arena *a)
{
	memset(out, 0, s->size);
	for (size_t i = 0; i < s->nfields; i++)
		read_field(cJSON_GetObjectItem(obj, s->fields[i].name),
			   &s->fields[i], out, a);
}

static int check_manifest(const struct manifest *m, struct err *e)
{
	if (m->head.format > MANIFEST_FORMAT)
		return err_set(e, ERR_VERSION,
			       "this backup has format %" PRId64
			       ", but skep %s supports formats up to %d; "
			       "use a newer version of skep",
			       m->head.format, SKEP_VERSION, MANIFEST_FORMAT);
	if (m->head.format < 1 || !m->head.id || !m->head.home)
		return err_set(e, ERR_CORRUPT,
			       "the manifest of the backup has no header");
	for (int i = 0; i < m->count; i++)
		if (!m->items[i].role)
			return err_set(e, ERR_CORRUPT,
				       "item %d of the backup's manifest has "
				       "no role",
				       i + 1);
	return 0;
}

int manifest_parse(struct manifest *m, const char *text, size_t n,
		   struct err *e)
{
	cJSON *json = json_parse_object(MANIFEST_PATH, text, n, e);
	const cJSON *item, *items = cJSON_GetObjectItem(json, "items");
	int rc;

	*m = (struct manifest){0};
	if (!json)
		return -1;
	read_shape(json, &manifest_head_shape, &m->head, &m->arena);
	m->items = arena_alloc(&m->arena,
			       sizeof *m->items *
				       (size_t)(1 + cJSON_GetArraySize(items)));
	cJSON_ArrayForEach(item, items) read_shape(
		item, &manifest_item_shape, &m->items[m->count++], &m->arena);
	cJSON_Delete(json);
	rc = check_manifest(m, e);
	if (rc)
		manifest_fini(m);
	return rc;
}

void manifest_fini(struct manifest *m)
{
	arena_fini(&m->arena);
	*m = (struct manifest){0};
}
