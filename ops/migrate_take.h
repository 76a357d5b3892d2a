#ifndef OPS_MIGRATE_TAKE_H
#define OPS_MIGRATE_TAKE_H

#include "ops/migrate.h"

/* The rows of the file at hand say where it is now. */
int migrate_note_removed(struct migrate *m, const char *where, struct err *e);

#endif
