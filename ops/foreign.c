#include "ops/foreign.h"

#include "base/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE    65536
#define SQL_MAX  (1u << 20)
#define IN_MS    INT64_C(100000000000) /* larger numbers are milliseconds */
#define BASENAME "foreign.sqlite"

/* --- files ------------------------------------------------------------------ */

/* The bytes of one file through `fn`. */
static int each_piece(const char *path,
		      int (*fn)(void *arg, const void *p, size_t n,
				struct err *e),
		      void *arg, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	char *room = malloc(PIECE);
	ssize_t got = 0;

	if (!room)
		abort();
	if (fd < 0)
		rc = err_errno_set(e, "%s", path);
	while (!rc && (got = read(fd, room, PIECE)) > 0)
		rc = fn(arg, room, (size_t)got, e);
	if (!rc && got < 0)
		rc = err_errno_set(e, "%s", path);
	if (fd >= 0)
		close(fd);
	free(room);
	return rc;
}

static int add_hash(void *arg, const void *p, size_t n, struct err *e)
{
	(void)e;
	hash_add(arg, p, n);
	return 0;
}

int foreign_mark(const char *path, struct foreign_mark *out, struct err *e)
{
	struct hash *h;
	struct stat st;
	int rc;

	if (stat(path, &st))
		return err_errno_set(e, "%s", path);
	h = hash_new();
	rc = each_piece(path, add_hash, h, e);
	hash_end(h, out->sha256);
	out->bytes = st.st_size;
	out->mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) +
			st.st_mtim.tv_nsec;
	return rc;
}

static int add_copy(void *arg, const void *p, size_t n, struct err *e)
{
	return file_write_fd(*(const int *)arg, BASENAME, p, n, e);
}

static int copy(const char *from, const char *to, struct err *e)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = fd < 0 ? err_errno_set(e, "%s", to)
			: each_piece(from, add_copy, &fd, e);

	if (fd >= 0)
		close(fd);
	return rc;
}

int foreign_open(struct sql **out, const char *path, const char *dir,
		 struct err *e)
{
	static const char *const ends[] = {"-shm", "-wal", ""};
	char from[PATH_MAX + 8], to[PATH_MAX + 32];

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		snprintf(from, sizeof from, "%s%s", path, ends[i]);
		snprintf(to, sizeof to, "%s/" BASENAME "%s", dir, ends[i]);
		unlink(to);
		/* the -shm is made anew from the log */
		if (i > 0 && file_exists(from) && copy(from, to, e))
			return -1;
	}
	return sql_open(out, to, NULL, 0, e);
}

/* --- tables ------------------------------------------------------------------ */

static void quote(struct buf *b, const char *text, char mark)
{
	buf_addc(b, mark);
	for (; *text; text++) {
		if (*text == mark)
			buf_addc(b, mark);
		buf_addc(b, *text);
	}
	buf_addc(b, mark);
}

static cJSON *ask(struct sql *db, const char *text, struct err *e)
{
	struct arena a = {0};
	const char *json;
	cJSON *v = NULL;

	if (sql_script_text(db, text, &a, &json, e) == 0)
		v = json_parse("rows", json, strlen(json), e);
	arena_fini(&a);
	return v;
}

bool foreign_has(struct sql *db, const char *table)
{
	struct buf b = BUF_MAX(4096);
	struct err ignored;
	int64_t n = 0;

	buf_adds(&b, "SELECT count(*) FROM sqlite_master WHERE name = ");
	quote(&b, table, '\'');
	(void)sql_script_i64(db, b.p, &n, &ignored);
	buf_fini(&b);
	return n > 0;
}

cJSON *foreign_tables(struct sql *db, struct err *e)
{
	return ask(db,
		   "SELECT json_group_array(name) FROM sqlite_master WHERE "
		   "type = 'table' AND name NOT LIKE 'sqlite%'",
		   e);
}

static cJSON *columns_of(struct sql *db, const char *table, struct err *e)
{
	struct buf b = BUF_MAX(4096);
	cJSON *v;

	buf_adds(&b, "SELECT json_group_array(name) FROM pragma_table_info(");
	quote(&b, table, '\'');
	buf_addc(&b, ')');
	v = ask(db, b.p, e);
	buf_fini(&b);
	return v;
}

static void add_columns(struct buf *b, const cJSON *columns)
{
	const cJSON *c;

	cJSON_ArrayForEach(c, columns)
	{
		if (c != columns->child)
			buf_addc(b, ',');
		quote(b, c->valuestring, '\'');
		buf_adds(b, ", CASE typeof(");
		quote(b, c->valuestring, '"');
		buf_adds(b, ") WHEN 'blob' THEN hex(");
		quote(b, c->valuestring, '"');
		buf_adds(b, ") ELSE ");
		quote(b, c->valuestring, '"');
		buf_adds(b, " END");
	}
}

cJSON *foreign_rows(struct sql *db, const char *table, const char *column,
		    const char *value, const char *order, struct err *e)
{
	cJSON *rows = NULL, *columns = columns_of(db, table, e);
	struct buf b = BUF_MAX(SQL_MAX);

	if (!columns)
		return NULL;
	buf_adds(&b, "SELECT json_group_array(json_object(");
	add_columns(&b, columns);
	buf_adds(&b, ")) FROM (SELECT * FROM ");
	quote(&b, table, '"');
	if (column) {
		buf_adds(&b, " WHERE ");
		quote(&b, column, '"');
		buf_adds(&b, " = ");
		quote(&b, value, '\'');
	}
	buf_addf(&b, " ORDER BY %s)", order);
	if (buf_ok(&b, "a question", e) == 0)
		rows = ask(db, b.p, e);
	cJSON_Delete(columns);
	buf_fini(&b);
	return rows;
}

/* --- values ------------------------------------------------------------------ */

const cJSON *foreign_pick(const cJSON *obj, const char *names)
{
	char name[64];

	while (*names) {
		size_t n = strcspn(names, "|");
		const cJSON *v;

		snprintf(name, sizeof name, "%.*s", (int)n, names);
		v = cJSON_GetObjectItemCaseSensitive(obj, name);
		if (v && !cJSON_IsNull(v))
			return v;
		names += n + (names[n] == '|');
	}
	return NULL;
}

const char *foreign_text(const cJSON *obj, const char *names, const char *other)
{
	const cJSON *v = foreign_pick(obj, names);

	return cJSON_IsString(v) ? v->valuestring : other;
}

static int64_t iso_time(const char *text)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	double fraction = 0;

	if (rest && (*rest == 'T' || *rest == ' '))
		rest = strptime(rest + 1, "%H:%M:%S", &tm);
	if (!rest)
		return 0;
	if (*rest == '.')
		fraction = strtod(rest, NULL);
	return timegm(&tm) * 1000 + (int64_t)(fraction * 1000);
}

int64_t foreign_time(const cJSON *v)
{
	if (cJSON_IsString(v))
		return iso_time(v->valuestring);
	if (!cJSON_IsNumber(v))
		return 0;
	return v->valuedouble > (double)IN_MS
		       ? (int64_t)v->valuedouble
		       : (int64_t)(v->valuedouble * 1000);
}

cJSON *foreign_value(const cJSON *v)
{
	const char *text = cJSON_IsString(v) ? v->valuestring : "";
	struct err ignored;
	cJSON *parsed = *text == '{' || *text == '['
				? json_parse("value", text, strlen(text),
					     &ignored)
				: NULL;

	return parsed ? parsed : cJSON_Duplicate(v, true);
}
