#include "schema/agent/artifact.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/vocab.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define META_MAX  65536
#define OWNER_MAX 256
#define MIME_MAX  128

struct artifact_writer {
	struct sql *db;
	struct arena mem; /* of the copied texts */
	struct artifact_key key;
	struct artifact_about about;
	struct id aid;
	struct hash *hash;
	int64_t content; /* artifact_content.id, 0 before the first full chunk */
	int64_t size;
	int64_t chunks;
	bool is_loose; /* committed chunks without an artifact; close deletes
		        * them */
	bool is_done;
	size_t n;
	char buf[ARTIFACT_CHUNK];
};

struct artifact_key artifact_key_tool(const char *run, const char *call,
				      const char *name)
{
	return (struct artifact_key){"tool", run, call, name};
}

struct artifact_key artifact_key_run(const char *run, const char *path)
{
	return (struct artifact_key){"run", run, "", path};
}

struct artifact_key artifact_key_named(const char *owner, const char *kind,
				       const char *name)
{
	return (struct artifact_key){"named", owner, kind, name};
}

/* --- checking --------------------------------------------------------- */

static const struct class_rule {
	const char *name;
	const char
		*kind; /* the name of `kind` in messages; NULL: the class has no
		        * kind */
	bool is_path;  /* the name is a relative path */
} rules[] = {
	{"tool", "the tool call", false},
	{"run", NULL, true},
	{"named", "the artifact's kind", false},
	{"media", "the message", true},
};

static const struct class_rule *rule_of(const char *class)
{
	for (size_t i = 0; class && i < sizeof rules / sizeof rules[0]; i++)
		if (strcmp(rules[i].name, class) == 0)
			return &rules[i];
	return NULL;
}

/* Names become paths below a directory again, and must stay below it. */
static bool path_stays_below(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (path[n] == '\0')
			return true;
		path += n + 1;
	}
}

static int check_key(const struct artifact_key *k, struct err *e)
{
	const struct class_rule *rule = rule_of(k->class);

	if (vocab_check("artifact.class", k->class, e))
		return -1;
	assert(rule && "every class has a rule");
	if (text_check_key("the artifact's owner", k->owner, OWNER_MAX, e))
		return -1;
	if (rule->kind && text_check_key(rule->kind, k->kind, OWNER_MAX, e))
		return -1;
	if (!rule->kind && k->kind && *k->kind)
		return err_set(e, ERR_USAGE,
			       "artifacts of class %s have no kind ('%s')",
			       rule->name, quoted(k->kind).text);
	if (text_check_key("the artifact's name", k->name, ARTIFACT_NAME_MAX,
			   e))
		return -1;
	if (rule->is_path && !path_stays_below(k->name))
		return err_set(e, ERR_USAGE,
			       "'%s' is not a relative path; it must not "
			       "start with / or contain empty, . or .. "
			       "components",
			       quoted(k->name).text);
	return 0;
}

static int check_about(const struct artifact_about *about, struct err *e)
{
	cJSON *meta;

	if (about->mime &&
	    text_check_key("the media type", about->mime, MIME_MAX, e))
		return -1;
	if (!about->meta)
		return 0;
	if (strlen(about->meta) > META_MAX)
		return err_set(e, ERR_TOOBIG,
			       "the metadata of the artifact is larger than "
			       "%d bytes; put it into the content",
			       META_MAX);
	meta = json_parse_object("the artifact's meta", about->meta,
				 strlen(about->meta), e);
	cJSON_Delete(meta);
	return meta ? 0 : -1;
}

/* --- writing ---------------------------------------------------------- */

int artifact_writer_open(struct artifact_writer **out, struct sql *db,
			 const struct artifact_key *key,
			 const struct artifact_about *about, struct err *e)
{
	struct id aid = id_new(ID_ARTIFACT);
	struct artifact_key k = *key;
	struct artifact_writer *w;

	if (!k.name && k.class && strcmp(k.class, "tool") == 0)
		k.name = aid.text;
	if (check_key(&k, e) || (about && check_about(about, e)))
		return -1;
	w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->db = db;
	w->aid = aid;
	w->key.class = rule_of(k.class)->name;
	w->key.owner = arena_text(&w->mem, k.owner);
	w->key.kind = arena_text(&w->mem, k.kind ? k.kind : "");
	w->key.name = arena_text(&w->mem, k.name);
	if (about)
		w->about = *about;
	w->about.mime = arena_text(&w->mem, w->about.mime);
	w->about.meta = arena_text(&w->mem, w->about.meta);
	if (w->about.max_bytes <= 0 || w->about.max_bytes > ARTIFACT_MAX_BYTES)
		w->about.max_bytes = ARTIFACT_MAX_BYTES;
	w->hash = hash_new();
	*out = w;
	return 0;
}

static int add_chunk(struct artifact_writer *w, int64_t *content, struct err *e)
{
	int64_t now = clock_now();
	int n;

	if (*content == 0) {
		if (sql_exec(w->db, Q_ARTIFACT_CONTENT_BEGIN,
			     &(struct artifact_content_begin_in){now}, e) < 0)
			return -1;
		*content = sql_last_rowid(w->db);
	} else {
		n = sql_exec(w->db, Q_ARTIFACT_CONTENT_TOUCH,
			     &(struct artifact_content_touch_in){
				     .content = *content, .now = now},
			     e);
		if (n <= 0)
			return n < 0 ? -1
				     : err_set(e, ERR_STALE,
					       "artifact '%s' was deleted "
					       "while it was "
					       "being written; write it again",
					       quoted(w->key.name).text);
	}
	if (w->n == 0)
		return 0;
	return sql_exec(w->db, Q_ARTIFACT_CHUNK_ADD,
			&(struct artifact_chunk_add_in){.id = *content << 20 |
							      w->chunks,
							.data = {w->buf, w->n}},
			e) < 0
		       ? -1
		       : 0;
}

/* One transaction per chunk, so that other writers wait only that long. */
static int flush(struct artifact_writer *w, struct err *e)
{
	bool nested = sql_in_transaction(w->db);
	int64_t content = w->content;

	if (sql_enter(w->db, e))
		return -1;
	if (sql_leave(w->db, add_chunk(w, &content, e), e))
		return -1;
	/* In a transaction of the caller, its rollback cleans up, and the
	 * number may then belong to another content. */
	w->is_loose = w->is_loose || !nested;
	w->content = content;
	w->chunks++;
	w->n = 0;
	return 0;
}

int artifact_write(struct artifact_writer *w, const void *p, size_t n,
		   struct err *e)
{
	const char *from = p;

	if (n > (size_t)(w->about.max_bytes - w->size))
		return err_set(e, ERR_TOOBIG,
			       "artifact '%s' is over its limit of %" PRId64
			       " bytes",
			       quoted(w->key.name).text, w->about.max_bytes);
	hash_add(w->hash, p, n);
	w->size += (int64_t)n;
	while (n > 0) {
		size_t room = ARTIFACT_CHUNK - w->n;
		size_t some = n < room ? n : room;

		/* The chunk is full and more bytes follow. The last chunk is
		 * written together with the row. */
		if (room == 0) {
			if (flush(w, e))
				return err_wrap(e, "artifact '%s'",
						quoted(w->key.name).text);
			continue;
		}
		memcpy(w->buf + w->n, from, some);
		w->n += some;
		from += some;
		n -= some;
	}
	return 0;
}

static int appear(struct artifact_writer *w, const char *sha256, struct id *aid,
		  struct err *e)
{
	struct artifact_upsert_in in = {
		.aid = w->aid.text,
		.class = w->key.class,
		.owner = w->key.owner,
		.kind = w->key.kind,
		.name = w->key.name,
		.mime = w->about.mime,
		.meta = w->about.meta ? w->about.meta : "{}",
		.content = w->content,
		.now = clock_now(),
	};
	struct artifact_upsert_row row;
	struct arena a = {0};
	int rc;

	if (add_chunk(w, &in.content, e) ||
	    sql_exec(w->db, Q_ARTIFACT_CONTENT_READY,
		     &(struct artifact_content_ready_in){.content = in.content,
							 .size = w->size,
							 .sha256 = sha256,
							 .now = in.now},
		     e) < 0)
		return -1;
	rc = sql_get(w->db, Q_ARTIFACT_UPSERT, &in, &row, &a, e);
	if (rc > 0 && aid)
		snprintf(aid->text, sizeof aid->text, "%s", row.aid);
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

int artifact_commit(struct artifact_writer *w, struct id *aid, struct err *e)
{
	char sha256[HASH_HEX];

	hash_end(w->hash, sha256);
	w->hash = NULL;
	if (sql_enter(w->db, e))
		return -1;
	if (sql_leave(w->db, appear(w, sha256, aid, e), e))
		return err_wrap(e, "artifact '%s'", quoted(w->key.name).text);
	w->is_done = true;
	return 0;
}

void artifact_writer_close(struct artifact_writer *w)
{
	struct err ignored; /* gc deletes it as well */

	if (!w)
		return;
	if (w->is_loose && !w->is_done)
		sql_exec(w->db, Q_ARTIFACT_CONTENT_KILL,
			 &(struct artifact_content_kill_in){w->content},
			 &ignored);
	hash_free(w->hash);
	arena_fini(&w->mem);
	free(w);
}

int artifact_put(struct sql *db, const struct artifact_key *key,
		 const struct artifact_about *about, struct blob bytes,
		 struct id *aid, struct err *e)
{
	struct artifact_writer *w;
	int rc;

	if (artifact_writer_open(&w, db, key, about, e))
		return -1;
	rc = artifact_write(w, bytes.p, bytes.n, e);
	if (rc == 0)
		rc = artifact_commit(w, aid, e);
	artifact_writer_close(w);
	return rc;
}
