#ifndef OPS_IMPORT_IGNORED_H
#define OPS_IMPORT_IGNORED_H

/* Why a file or a table of another program is not imported, from ignored.def;
 * NULL: it is unknown. */
const char *ignored_file_reason(const char *path);
const char *ignored_table_reason(const char *name);

#endif
