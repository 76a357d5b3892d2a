/*
 * sqlgen: turns the .sql files of one database into C, and proves on the way
 * that they fit together. A build-time tool.
 *
 *   sqlgen NAME KIND APPLICATION_ID OUT.h OUT.c FILE.sql...
 *
 * A file whose name starts with four digits is a migration (in that order; a
 * first line "-- rebuild" marks a table rebuild). columns.sql holds the
 * additive columns, one ALTER TABLE a line. Every other file holds queries:
 *
 *   -- columns NAME                      text for several queries; it follows, and
 *                                        {NAME} in a query stands for it
 *   -- row NAME (FIELD TYPE, ...)        a struct, for several queries
 *   -- query NAME [(PARAMS)] [-> ROW]    a query; its text follows
 *
 * PARAMS is a list (FIELD TYPE, ...), which makes struct NAME_in, or the name of
 * a row. ROW is the name of a row, or a list, which makes struct NAME_row. TYPE
 * is one of lib/base/shape.h. A head may go on over several lines that start with
 * "--". Every query is prepared against the migrated schema: a parameter or a
 * column that SQL and struct do not agree on, in name, order or type, stops the
 * build. So does a row, a field or a list of columns that no query
 * uses.
 */
#include "tools/sqlgen.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row rows[MAX_THINGS];
struct query queries[MAX_THINGS];
struct script migrations[MAX_THINGS], columns[MAX_THINGS];
int nrows, nqueries, nmigrations, ncolumns;
static struct fragment fragments[MAX_THINGS];
static int nfragments;
static char **text_to; /* of the query or fragment being read */

static void die(const char *file, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

static void die(const char *file, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: error: ", file);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(65);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text;
	long n;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0)
		die(path, "cannot be read");
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	if (!text || fread(text, 1, (size_t)n, f) != (size_t)n || fclose(f))
		die(path, "cannot be read");
	return text;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- parsing ---------------------------------------------------------- */

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

static const char *read_word(const char *p, char *out, size_t cap)
{
	size_t n = 0;

	p = skip_space(p);
	while ((isalnum((unsigned char)*p) || *p == '_') && n + 1 < cap)
		out[n++] = *p++;
	out[n] = '\0';
	return p;
}

static bool is_type(const char *t)
{
	static const char *const types[] = {"i64", "opt",  "time", "bool",
					    "f64", "text", "json", "blob"};

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (!strcmp(types[i], t))
			return true;
	return false;
}

static struct row *find_row(const char *name)
{
	for (int i = 0; i < nrows; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static struct row *new_row(const char *file, const char *name)
{
	struct row *r = &rows[nrows++];

	if (nrows == MAX_THINGS || find_row(name))
		die(file, "row %s: too many, or there twice", name);
	snprintf(r->name, sizeof r->name, "%s", name);
	r->file = file;
	return r;
}

/* "(a i64, b text)" into r; returns what follows. */
static const char *read_fields(const char *file, const char *p, struct row *r)
{
	for (p = skip_space(p) + 1;;) {
		struct field *f = &r->fields[r->nfields++];

		if (r->nfields == MAX_FIELDS)
			die(file, "%s: too many fields", r->name);
		p = read_word(p, f->name, sizeof f->name);
		p = read_word(p, f->type, sizeof f->type);
		if (!*f->name || !is_type(f->type))
			die(file, "%s: field '%s' has no known type ('%s')",
			    r->name, f->name, f->type);
		p = skip_space(p);
		if (*p == ')')
			return p + 1;
		if (*p++ != ',')
			die(file, "%s: expected , or ) after %s", r->name,
			    f->name);
	}
}

/* A row's name, or a list that makes the row `made`. */
static const char *read_shape(const char *file, const char *p, const char *made,
			      struct row **out)
{
	char name[NAME_BYTES];
	const char *after;

	p = skip_space(p);
	if (*p == '(') {
		after = read_word(p + 1, name, sizeof name);
		if (*skip_space(after) == ')') { /* (row_name) */
			*out = find_row(name);
			p = skip_space(after) + 1;
		} else {
			*out = new_row(file, made);
			(*out)->used = true;
			return read_fields(file, p, *out);
		}
	} else {
		p = read_word(p, name, sizeof name);
		*out = find_row(name);
	}
	if (!*out)
		die(file, "%s: there is no row '%s' above it", made, name);
	(*out)->used = true;
	return p;
}

static void read_query_head(const char *file, const char *p)
{
	struct query *q = &queries[nqueries++];
	char made[NAME_BYTES];

	if (nqueries == MAX_THINGS)
		die(file, "too many queries");
	q->file = file;
	p = skip_space(read_word(p, q->name, sizeof q->name - 8));
	if (*p == '(') {
		snprintf(made, sizeof made, "%.55s_in", q->name);
		p = skip_space(read_shape(file, p, made, &q->in));
	}
	if (!strncmp(p, "->", 2)) {
		snprintf(made, sizeof made, "%.55s_row", q->name);
		p = skip_space(read_shape(file, p + 2, made, &q->out));
	}
	if (*p)
		die(file, "query %s: '%s' in its head", q->name, p);
}

static bool head_is_whole(const char *head)
{
	int depth = 0;

	for (; *head; head++)
		depth += (*head == '(') - (*head == ')');
	return depth == 0;
}

static void append_text(char **to, const char *text, size_t len)
{
	size_t n = *to ? strlen(*to) : 0;

	*to = realloc(*to, n + len + 1);
	if (!*to)
		abort();
	memcpy(*to + n, text, len);
	(*to)[n + len] = '\0';
}

static void append_fragment(const char *file, char **to, const char *name)
{
	for (int i = 0; i < nfragments; i++)
		if (!strcmp(fragments[i].name, name) && fragments[i].text) {
			fragments[i].used = true;
			append_text(to, fragments[i].text,
				    strlen(fragments[i].text) - 1);
			return;
		}
	die(file, "there are no columns '%s' above their use", name);
}

/* Appends a line, in which {NAME} stands for the columns of that name. */
static void append_line(const char *file, char **to, const char *line)
{
	const char *open;

	while ((open = strchr(line, '{'))) {
		char name[NAME_BYTES];
		const char *close = read_word(open + 1, name, sizeof name);
		bool named = *name && *close == '}';

		append_text(to, line, (size_t)(open + !named - line));
		if (named)
			append_fragment(file, to, name);
		line = named ? close + 1 : open + 1;
	}
	append_text(to, line, strlen(line));
	append_text(to, "\n", 1);
}

static void read_columns_head(const char *file, const char *p)
{
	struct fragment *f = &fragments[nfragments++];

	if (nfragments == MAX_THINGS)
		die(file, "too many columns");
	p = skip_space(read_word(p, f->name, sizeof f->name));
	if (!*f->name || *p)
		die(file, "columns %s: '%s' in their head", f->name, p);
	f->file = file;
	text_to = &f->text;
}

static void read_head(const char *file, const char *head)
{
	struct row *r;
	char name[NAME_BYTES];

	if (!strncmp(head, "query ", 6)) {
		read_query_head(file, head + 6);
		text_to = &queries[nqueries - 1].text;
		return;
	}
	if (!strncmp(head, "columns ", 8)) {
		read_columns_head(file, head + 8);
		return;
	}
	head = read_word(head + 4, name, sizeof name);
	r = new_row(file, name);
	read_fields(file, head, r);
}

static void read_queries(const char *file, char *text)
{
	char head[4096] = "";
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		bool comment = !strncmp(line, "--", 2);
		const char *section = comment ? skip_space(line + 2) : line;
		bool starts = comment && (!strncmp(section, "query ", 6) ||
					  !strncmp(section, "columns ", 8) ||
					  !strncmp(section, "row ", 4));

		if (starts || (*head && comment)) {
			size_t n = strlen(head);

			snprintf(head + n, sizeof head - n, "%s ", section);
			if (head_is_whole(head)) {
				read_head(file, head);
				head[0] = '\0';
			}
		} else if (!comment && *skip_space(line)) {
			if (*head || !text_to)
				die(file, "text outside a query: %s", line);
			append_line(file, text_to, line);
		}
	}
}

static void read_columns(const char *file, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct script *c = &columns[ncolumns];

		if (!strncmp(line, "--", 2) || !*skip_space(line))
			continue;
		if (sscanf(line, "ALTER TABLE %63s ADD COLUMN %63s", c->table,
			   c->column) != 2)
			die(file, "expected ALTER TABLE … ADD COLUMN: %s",
			    line);
		c->text = line;
		ncolumns++;
	}
}

static void read_input(const char *path)
{
	const char *name = base_name(path);
	char *text = read_file(path);

	if (isdigit((unsigned char)name[0])) {
		struct script *m = &migrations[nmigrations++];

		snprintf(m->name, sizeof m->name, "%.*s",
			 (int)strcspn(name, "."), name);
		m->text = text;
		m->rebuild = !strncmp(text, "-- rebuild", 10);
	} else if (!strcmp(name, "columns.sql")) {
		read_columns(path, text);
	} else {
		read_queries(path, text);
	}
}

/* --- proving ---------------------------------------------------------- */

static bool type_fits(const char *declared, const char *type)
{
	if (!declared) /* an expression: the head is all there is to know */
		return true;
	if (!strcmp(declared, "INTEGER"))
		return !strcmp(type, "i64") || !strcmp(type, "opt") ||
		       !strcmp(type, "time") || !strcmp(type, "bool");
	if (!strcmp(declared, "TEXT"))
		return !strcmp(type, "text") || !strcmp(type, "json");
	if (!strcmp(declared, "BLOB"))
		return !strcmp(type, "blob");
	if (!strcmp(declared, "REAL"))
		return !strcmp(type, "f64");
	return true;
}

static void prove_params(struct query *q, sqlite3_stmt *st)
{
	q->nparams = sqlite3_bind_parameter_count(st);
	for (int i = 0; i < q->nparams; i++) {
		const char *name = sqlite3_bind_parameter_name(st, i + 1);
		int at = 0;

		if (!name || !q->in)
			die(q->file, "query %s: parameter %d has no field",
			    q->name, i + 1);
		while (at < q->in->nfields &&
		       strcmp(q->in->fields[at].name, name + 1) != 0)
			at++;
		if (at == q->in->nfields)
			die(q->file, "query %s: %s has no field in %s", q->name,
			    name, q->in->name);
		q->in->fields[at].used = true;
		q->map[i] = at;
	}
}

static void prove_columns(struct query *q, sqlite3_stmt *st)
{
	int n = sqlite3_column_count(st);

	if (n != (q->out ? q->out->nfields : 0))
		die(q->file, "query %s: %d columns, but %d fields", q->name, n,
		    q->out ? q->out->nfields : 0);
	for (int i = 0; i < n; i++) {
		struct field *f = &q->out->fields[i];
		const char *name = sqlite3_column_name(st, i);
		const char *type = sqlite3_column_decltype(st, i);

		if (strcmp(name, f->name) != 0)
			die(q->file, "query %s: column %d is %s, field is %s",
			    q->name, i + 1, name, f->name);
		if (!type_fits(type, f->type))
			die(q->file, "query %s: %s is %s in SQL, %s in C",
			    q->name, name, type, f->type);
		f->used = true;
	}
}

static void prove_all(void)
{
	sqlite3 *db;
	sqlite3_stmt *st;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	for (int i = 0; i < nmigrations; i++)
		if (sqlite3_exec(db, migrations[i].text, 0, 0, 0) != SQLITE_OK)
			die(migrations[i].name, "%s", sqlite3_errmsg(db));
	for (int i = 0; i < ncolumns; i++)
		if (sqlite3_exec(db, columns[i].text, 0, 0, 0) != SQLITE_OK)
			die("columns.sql", "%s", sqlite3_errmsg(db));
	for (int i = 0; i < nqueries; i++) {
		struct query *q = &queries[i];

		if (!q->text || sqlite3_prepare_v2(db, q->text, -1, &st, 0))
			die(q->file, "query %s: %s", q->name,
			    q->text ? sqlite3_errmsg(db) : "has no text");
		prove_params(q, st);
		prove_columns(q, st);
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
	for (int i = 0; i < nfragments; i++)
		if (!fragments[i].used)
			die(fragments[i].file, "columns %s: no query uses them",
			    fragments[i].name);
	for (int i = 0; i < nrows; i++)
		for (int k = 0; k < rows[i].nfields; k++)
			if (!rows[i].fields[k].used)
				die(rows[i].file, "row %s: no query uses %s",
				    rows[i].name, rows[i].fields[k].name);
}

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		die(path, "cannot be written");
	return f;
}

int main(int argc, char **argv)
{
	FILE *header, *source;

	if (argc < 7) {
		fprintf(stderr, "usage: sqlgen NAME KIND APPLICATION_ID OUT.h "
				"OUT.c FILE.sql...\n");
		return 64;
	}
	for (int i = 6; i < argc; i++)
		read_input(argv[i]);
	prove_all();
	header = create(argv[4]);
	source = create(argv[5]);
	write_header(header, argv[1]);
	write_source(source, argv[1], argv[2], argv[3]);
	return fclose(header) || fclose(source) ? 74 : 0;
}
