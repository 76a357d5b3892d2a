/* Files with a JSON object a line: transcripts of OpenClaw, conversations of
 * Hiro, and anything that has a role and a content. */
#include "ops/migrate.h"

#include "base/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX (512u << 20)

static const char *stem(struct arena *a, const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dot = strrchr(path, '.');

	name = name ? name + 1 : path;
	return arena_textn(a, name,
			   dot && dot > name ? (size_t)(dot - name)
					     : strlen(name));
}

/* The n-th directory above the file, by name. */
static const char *above(struct arena *a, const char *path, int n)
{
	char copy[PATH_MAX], *slash;

	snprintf(copy, sizeof copy, "%s", path);
	for (int i = 0; i <= n; i++) {
		slash = strrchr(copy, '/');
		if (!slash)
			return "";
		*slash = '\0';
	}
	slash = strrchr(copy, '/');
	return arena_text(a, slash ? slash + 1 : copy);
}

/* --- OpenClaw ------------------------------------------------------------------ */

/* sessions.json beside it says by which key the session is known. */
static void read_index(struct migrate *m, struct session_piece *p)
{
	struct buf b = BUF_MAX(FILE_MAX);
	const char *file = m->file->path;
	const char *path = arena_printf(&m->arena, "%.*s/sessions.json",
					(int)(strrchr(file, '/') - file), file);
	struct err ignored;
	const cJSON *entry;
	cJSON *index = NULL;

	if (file_read(path, &b, &ignored) == 0)
		index = json_parse_object(path, b.p, b.n, &ignored);
	cJSON_ArrayForEach(entry, index)
	{
		if (strcmp(foreign_text(entry, "sessionId", ""), p->key) != 0)
			continue;
		p->key = arena_text(&m->arena, entry->string);
		p->title = arena_text(
			&m->arena,
			foreign_text(entry, "displayName|label|subject", NULL));
		p->model = arena_text(&m->arena,
				      foreign_text(entry, "model", NULL));
		break;
	}
	cJSON_Delete(index);
	buf_fini(&b);
}

/* {"type":"message","id":…,"parentId":…,"timestamp":…,"message":{…}} */
void migrate_openclaw(struct migrate *m, const cJSON *v, int64_t at)
{
	const char *type = foreign_text(v, "type", "raw");
	const cJSON *inner = foreign_pick(v, "message");
	const char *role = foreign_text(inner, "role", "");
	struct foreign_event ev = {
		.id = foreign_text(v, "id", NULL),
		.parent = foreign_text(v, "parentId", NULL),
		.type = "raw",
		.at = foreign_time(foreign_pick(v, "timestamp")),
		.body = v,
	};

	if (ev.at == 0)
		ev.at = at;
	if (!strcmp(type, "session"))
		return; /* the header */
	if (!strcmp(type, "message") && inner) {
		ev.type = !strcmp(role, "toolResult") ? "tool_result"
						      : "message";
		ev.body = inner;
	} else if (!strcmp(type, "compaction")) {
		ev.type = "compaction";
	}
	migrate_event(m, &ev);
}

static void openclaw_line(struct migrate *m, const cJSON *v)
{
	migrate_openclaw(m, v, 0);
}

/* --- others --------------------------------------------------------------------- */

static void plain_line(struct migrate *m, const cJSON *v)
{
	const cJSON *content = foreign_pick(v, "content|body|text|message");
	const char *role = foreign_text(v, "role|sender|from|author", NULL);
	struct foreign_event ev = {
		.id = foreign_text(v, "id|uuid", NULL),
		.type = role && content ? "message" : "raw",
		.at = foreign_time(foreign_pick(
			v, "ts|timestamp|created_at|createdAt|at|time")),
		.body = v,
	};
	cJSON *body = NULL;

	if (role && content)
		ev.body = body = migrate_message(v, role, content);
	migrate_event(m, &ev);
	cJSON_Delete(body);
}

/* The reason why some lines could not be read, or NULL. */
static const char *read_lines(struct migrate *m, struct buf *b,
			      void (*fn)(struct migrate *m, const cJSON *v))
{
	const char *broken = NULL;
	char *rest = NULL;
	int line = 0;

	for (char *text = strtok_r(b->p, "\n", &rest); text;
	     text = strtok_r(NULL, "\n", &rest)) {
		struct err e;
		cJSON *v;

		line++;
		if (text[strspn(text, " \t\r")] == '\0')
			continue;
		v = json_parse_object("line", text, strlen(text), &e);
		if (v)
			fn(m, v);
		else if (!broken)
			broken = arena_printf(&m->arena, "line %d: %s", line,
					      e.text);
		cJSON_Delete(v);
	}
	return broken;
}

int import_jsonl(struct migrate *m, struct err *e)
{
	const char *dir = above(&m->arena, m->file->path, 0);
	bool claw = !strcmp(dir, "sessions");
	bool hiro = !strcmp(dir, "conversations");
	struct session_piece p = {.importer = claw   ? "openclaw"
					      : hiro ? "hiro"
						     : "jsonl",
				  .key = stem(&m->arena, m->file->path)};
	struct buf b = BUF_MAX(FILE_MAX);
	int rc;

	if (claw) {
		p.agent = above(&m->arena, m->file->path, 1);
		read_index(m, &p);
	}
	m->file->claimed = true;
	rc = migrate_session(m, &p, e);
	if (rc > 0) {
		struct err why;
		const char *broken = NULL;

		if (file_read(m->file->path, &b, &why))
			broken = arena_text(&m->arena, why.text);
		else
			broken = read_lines(m, &b,
					    claw ? openclaw_line : plain_line);
		rc = migrate_session_end(m, broken, e);
	}
	buf_fini(&b);
	return rc < 0 ? -1 : 0;
}

/* runs/ID/branches/NAME.json of Lion: a branch with its messages. */
int import_run(struct migrate *m, struct err *e)
{
	struct session_piece p = {.importer = "lion"};
	struct buf b = BUF_MAX(FILE_MAX);
	const cJSON *list, *v;
	struct err why;
	cJSON *root = NULL;
	int rc;

	if (strcmp(above(&m->arena, m->file->path, 0), "branches") != 0)
		return 0;
	if (file_read(m->file->path, &b, &why) == 0)
		root = json_parse_object(m->file->path, b.p, b.n, &why);
	buf_fini(&b);
	list = foreign_pick(root, "messages");
	if (cJSON_IsObject(list))
		list = foreign_pick(list, "collections|pile|items");
	if (!cJSON_IsArray(list)) {
		cJSON_Delete(root);
		return 0;
	}
	m->file->claimed = true;
	p.key = arena_printf(&m->arena, "%s/%s",
			     above(&m->arena, m->file->path, 1),
			     stem(&m->arena, m->file->path));
	p.title = arena_text(&m->arena, foreign_text(root, "name", NULL));
	rc = migrate_session(m, &p, e);
	if (rc > 0) {
		cJSON_ArrayForEach(v, list) plain_line(m, v);
		rc = migrate_session_end(m, NULL, e);
	}
	cJSON_Delete(root);
	return rc < 0 ? -1 : 0;
}
