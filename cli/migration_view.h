#ifndef CLI_MIGRATION_VIEW_H
#define CLI_MIGRATION_VIEW_H

/* From here on a migration of a database that takes longer than a second is
 * shown on stderr: a line, on a terminal one that is rewritten. */
void migration_view_begin(void);

#endif
