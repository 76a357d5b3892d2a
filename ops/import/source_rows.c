/* Tables of other programs, and the values in them. */
#include "ops/import/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SQL_MAX (1u << 20)
#define IN_MS   INT64_C(100000000000) /* larger numbers are milliseconds */

void source_quote(struct buf *b, const char *text, char mark)
{
	buf_addc(b, mark);
	for (; *text; text++) {
		if (*text == mark)
			buf_addc(b, mark);
		buf_addc(b, *text);
	}
	buf_addc(b, mark);
}

static cJSON *query_rows(struct sql *db, const char *text, struct err *e)
{
	struct arena a = {0};
	const char *json;
	cJSON *v = NULL;

	if (sql_script_text(db, text, &a, &json, e) == 0)
		v = json_parse("rows", json, strlen(json), e);
	arena_fini(&a);
	return v;
}

bool source_has_table(struct sql *db, const char *table)
{
	struct buf b = BUF_MAX(4096);
	struct err ignored;
	int64_t n = 0;

	buf_adds(&b, "SELECT count(*) FROM sqlite_master WHERE name = ");
	source_quote(&b, table, '\'');
	(void)sql_script_i64(db, b.p, &n, &ignored);
	buf_fini(&b);
	return n > 0;
}

cJSON *source_tables(struct sql *db, struct err *e)
{
	return query_rows(
		db,
		"SELECT json_group_array(name) FROM pragma_table_list WHERE "
		"schema = 'main' AND type IN ('table', 'virtual') AND "
		"substr(name, 1, 7) <> 'sqlite_'",
		e);
}

cJSON *source_values(struct sql *db, const char *table, const char *column,
		     struct err *e)
{
	struct buf b = BUF_MAX(4096);
	cJSON *v;

	buf_adds(&b, "SELECT json_group_array(x) FROM (SELECT DISTINCT CAST(");
	source_quote(&b, column, '"');
	buf_adds(&b, " AS TEXT) AS x FROM ");
	source_quote(&b, table, '"');
	buf_adds(&b, " WHERE x IS NOT NULL ORDER BY x)");
	v = query_rows(db, b.p, e);
	buf_fini(&b);
	return v;
}

int64_t source_count(struct sql *db, const char *table)
{
	struct buf b = BUF_MAX(4096);
	struct err ignored;
	int64_t n = -1;

	buf_adds(&b, "SELECT count(*) FROM ");
	source_quote(&b, table, '"');
	if (b.over || sql_script_i64(db, b.p, &n, &ignored))
		n = -1;
	buf_fini(&b);
	return n;
}

cJSON *source_columns(struct sql *db, const char *table, struct err *e)
{
	struct buf b = BUF_MAX(4096);
	cJSON *v;

	buf_adds(&b, "SELECT json_group_array(name) FROM pragma_table_info(");
	source_quote(&b, table, '\'');
	buf_addc(&b, ')');
	v = query_rows(db, b.p, e);
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
		source_quote(b, c->valuestring, '\'');
		buf_adds(b, ", CASE typeof(");
		source_quote(b, c->valuestring, '"');
		buf_adds(b, ") WHEN 'blob' THEN hex(");
		source_quote(b, c->valuestring, '"');
		buf_adds(b, ") ELSE ");
		source_quote(b, c->valuestring, '"');
		buf_adds(b, " END");
	}
}

cJSON *source_rows(struct sql *db, const char *table, const char *column,
		   const char *value, const char *order, struct err *e)
{
	cJSON *rows = NULL, *columns = source_columns(db, table, e);
	struct buf b = BUF_MAX(SQL_MAX);

	if (!columns)
		return NULL;
	buf_adds(&b, "SELECT json_group_array(json_object(");
	add_columns(&b, columns);
	buf_adds(&b, ")) FROM (SELECT * FROM ");
	source_quote(&b, table, '"');
	if (column) {
		buf_adds(&b, " WHERE ");
		source_quote(&b, column, '"');
		buf_adds(&b, " = ");
		source_quote(&b, value, '\'');
	}
	buf_addf(&b, " ORDER BY %s)", order);
	if (buf_ok(&b, "a question", e) == 0)
		rows = query_rows(db, b.p, e);
	cJSON_Delete(columns);
	buf_fini(&b);
	return rows;
}

/* --- values ------------------------------------------------------------------ */

const cJSON *source_pick(const cJSON *obj, const char *names)
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

const char *source_text(const cJSON *obj, const char *names, const char *other)
{
	const cJSON *v = source_pick(obj, names);

	return cJSON_IsString(v) ? v->valuestring : other;
}

const char *source_id(const cJSON *obj, const char *names, struct arena *a)
{
	const cJSON *v = source_pick(obj, names);

	if (cJSON_IsString(v))
		return arena_text(a, v->valuestring);
	if (!cJSON_IsNumber(v))
		return "";
	return v->valuestring
		       ? arena_text(a, v->valuestring)
		       : arena_printf(a, "%" PRId64, (int64_t)v->valuedouble);
}

/* "+02:00" and the like, in minutes. */
static int64_t zone_of(const char *rest)
{
	int hours = 0, minutes = 0;
	int n = sscanf(rest + 1, "%2d:%2d", &hours, &minutes);

	if ((*rest != '+' && *rest != '-') || n < 1)
		return 0;
	return (*rest == '-' ? -1 : 1) * (hours * 60 + minutes);
}

static int64_t iso_time(const char *text)
{
	struct tm tm = {0};
	char *rest = strptime(text, "%Y-%m-%d", &tm);
	double fraction = 0;

	if (rest && (*rest == 'T' || *rest == ' '))
		rest = strptime(rest + 1, "%H:%M:%S", &tm);
	if (!rest)
		return 0;
	if (*rest == '.')
		fraction = strtod(rest, &rest);
	return (timegm(&tm) - (*rest ? zone_of(rest) * 60 : 0)) * 1000 +
	       (int64_t)(fraction * 1000 + 0.5);
}

int64_t source_time(const cJSON *v)
{
	if (cJSON_IsString(v))
		return iso_time(v->valuestring);
	if (!cJSON_IsNumber(v))
		return 0;
	return v->valuedouble > (double)IN_MS
		       ? (int64_t)v->valuedouble
		       : (int64_t)(v->valuedouble * 1000 + 0.5);
}

cJSON *source_value(const cJSON *v)
{
	const char *text = cJSON_IsString(v) ? v->valuestring : "";
	struct err ignored;
	cJSON *parsed = *text == '{' || *text == '['
				? json_parse("value", text, strlen(text),
					     &ignored)
				: NULL;

	return parsed ? parsed : cJSON_Duplicate(v, true);
}

static int digit(char c)
{
	return c >= 'A' ? c - 'A' + 10 : c - '0';
}

void source_bytes(struct buf *b, const cJSON *hex)
{
	const char *p = cJSON_IsString(hex) ? hex->valuestring : "";

	for (; p[0] && p[1]; p += 2)
		buf_addc(b, (char)(digit(p[0]) * 16 + digit(p[1])));
}
