/* Writes the generated header and source of sqlgen. */
#include "tools/sqlgen.h"

#include <ctype.h>

static void put_upper(FILE *out, const char *s)
{
	for (; *s; s++)
		fputc(toupper((unsigned char)*s), out);
}

static void put_string(FILE *out, const char *s)
{
	fputs("\n\t\t\"", out);
	for (; *s; s++)
		if (*s == '\n')
			fputs(s[1] ? "\\n\"\n\t\t\"" : "\\n", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
	fputc('"', out);
}

void write_header(FILE *out, const char *name)
{
	fprintf(out, "/* Made by sqlgen from the .sql files: do not edit. */\n"
		     "#ifndef SCHEMA_");
	put_upper(out, name);
	fprintf(out, "_QUERIES_H\n#define SCHEMA_");
	put_upper(out, name);
	fprintf(out,
		"_QUERIES_H\n\n#include \"lib/base/shape.h\"\n"
		"#include \"lib/db/migrate.h\"\n\nenum %s_query {\n",
		name);
	for (int i = 0; i < nqueries; i++) {
		fputs("\tQ_", out);
		put_upper(out, queries[i].name);
		fputs(",\n", out);
	}
	fputs("\tQ_", out);
	put_upper(out, name);
	fprintf(out, "_COUNT\n};\n\nextern const struct db_schema %s_schema;\n",
		name);
	for (int i = 0; i < nrows; i++) {
		fprintf(out, "\nstruct %s {\n", rows[i].name);
		for (int k = 0; k < rows[i].nfields; k++)
			fprintf(out, "\tfield_%s %s;\n", rows[i].fields[k].type,
				rows[i].fields[k].name);
		fprintf(out, "};\nextern const struct shape %s_shape;\n",
			rows[i].name);
	}
	fprintf(out, "\n#endif\n");
}

static void write_shapes(FILE *out)
{
	for (int i = 0; i < nrows; i++) {
		const struct row *r = &rows[i];

		fprintf(out, "\nstatic const struct field %s_fields[] = {\n",
			r->name);
		for (int k = 0; k < r->nfields; k++)
			fprintf(out,
				"\t{\"%s\", FIELD_%s, offsetof(struct %s, "
				"%s)},\n",
				r->fields[k].name, r->fields[k].type, r->name,
				r->fields[k].name);
		fprintf(out,
			"};\nconst struct shape %s_shape = {\"%s\", "
			"sizeof(struct %s), %d, %s_fields};\n",
			r->name, r->name, r->name, r->nfields, r->name);
	}
}

static void write_query(FILE *out, const struct query *q)
{
	fputs("\t[Q_", out);
	put_upper(out, q->name);
	fprintf(out, "] = {\n\t\t.name = \"%s\",\n\t\t.text =", q->name);
	put_string(out, q->text);
	if (q->in)
		fprintf(out, ",\n\t\t.in = &%s_shape", q->in->name);
	if (q->nparams > 0) {
		fprintf(out,
			",\n\t\t.nparams = %d,\n\t\t.in_map = (const "
			"unsigned char[]){",
			q->nparams);
		for (int i = 0; i < q->nparams; i++)
			fprintf(out, "%s%d", i ? ", " : "", q->map[i]);
		fputs("}", out);
	}
	if (q->out)
		fprintf(out, ",\n\t\t.out = &%s_shape", q->out->name);
	fputs("},\n", out);
}

static void write_scripts(FILE *out, const char *name)
{
	fprintf(out, "\nstatic const struct db_migration %s_migrations[] = {\n",
		name);
	for (int i = 0; i < nmigrations; i++) {
		fprintf(out, "\t{.name = \"%s\", .rebuild = %s, .text =",
			migrations[i].name,
			migrations[i].rebuild ? "true" : "false");
		put_string(out, migrations[i].text);
		fputs("},\n", out);
	}
	fprintf(out, "};\n\nstatic const struct db_column %s_columns[] = {\n",
		name);
	for (int i = 0; i < ncolumns; i++) {
		fprintf(out, "\t{\"%s\", \"%s\",", columns[i].table,
			columns[i].column);
		put_string(out, columns[i].text);
		fputs("},\n", out);
	}
	fprintf(out, "\t{0, 0, 0}\n};\n");
}

void write_source(FILE *out, const char *name, const char *kind, const char *id)
{
	fprintf(out,
		"/* Made by sqlgen from the .sql files: do not edit. */\n"
		"#include \"schema/%s_queries.h\"\n\n#include <stddef.h>\n",
		name);
	write_shapes(out);
	fprintf(out, "\nstatic const struct sql_query %s_queries[] = {\n",
		name);
	for (int i = 0; i < nqueries; i++)
		write_query(out, &queries[i]);
	fprintf(out,
		"};\n\nstatic const struct sql_set %s_set = {%s_queries, "
		"%d};\n",
		name, name, nqueries);
	write_scripts(out, name);
	fprintf(out,
		"\nconst struct db_schema %s_schema = {\n\t.kind = \"%s\",\n"
		"\t.application_id = %s,\n\t.migrations = %s_migrations,\n"
		"\t.version = %d,\n\t.columns = %s_columns,\n\t.ncolumns = "
		"%d,\n\t.queries = &%s_set,\n};\n",
		name, kind, id, name, nmigrations, name, ncolumns, name);
}
