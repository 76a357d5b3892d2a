#ifndef TOOLS_SQLGEN_H
#define TOOLS_SQLGEN_H

#include <stdbool.h>
#include <stdio.h>

/* The parts of sqlgen: sqlgen.c reads and proves, sqlgen_write.c writes C. */
#define NAME_BYTES 64
#define MAX_FIELDS 64
#define MAX_THINGS 1024

struct field {
	char name[NAME_BYTES];
	char type[8];
	bool used;
};

struct row {
	char name[NAME_BYTES];
	struct field fields[MAX_FIELDS];
	int nfields;
	bool used;
	const char *file;
};

struct query {
	char name[NAME_BYTES];
	struct row *in;
	struct row *out;
	char *text;
	const char *file;
	int map[MAX_FIELDS];
	int nparams;
};

struct fragment {
	char name[NAME_BYTES];
	char *text;
	const char *file;
	bool used;
};

struct script {
	char name[NAME_BYTES];
	char table[NAME_BYTES];
	char column[NAME_BYTES];
	char *text;
	bool rebuild;
};

extern struct row rows[MAX_THINGS];
extern struct query queries[MAX_THINGS];
extern struct script migrations[MAX_THINGS], columns[MAX_THINGS];
extern int nrows, nqueries, nmigrations, ncolumns;

void write_header(FILE *out, const char *name);
void write_source(FILE *out, const char *name, const char *kind,
		  const char *id);

#endif
