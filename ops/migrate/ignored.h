#ifndef OPS_MIGRATE_IGNORED_H
#define OPS_MIGRATE_IGNORED_H

/* Why a file or a table of another program is not taken, by ignored.def; NULL:
 * nobody knows it. */
const char *store_file_reason(const char *path);
const char *store_table_reason(const char *name);

#endif
