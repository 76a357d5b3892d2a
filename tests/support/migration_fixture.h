#ifndef TESTS_SUPPORT_MIGRATION_FIXTURE_H
#define TESTS_SUPPORT_MIGRATION_FIXTURE_H

#include "lib/db/migrate.h"

/*
 * A small database with a past, for tests of opening: version 1 has parents
 * and their children, version 2 one more table, version 3 rebuilds the table
 * of parents while children point to it. A column came later.
 */
#define FAMILY_NEWEST   3
#define FAMILY_PARENTS  20
#define FAMILY_CHILDREN 40

/* The schema as a program of that version knows it. */
struct db_schema fixture_schema(int version);

/* Opens path with version 1 and closes it. */
void fixture_make(const char *path);

/* Fails the test unless the file is whole, of this version, and has every
 * parent and child (and the late column, if the version has it). */
void fixture_check(const char *path, int version);

#endif
