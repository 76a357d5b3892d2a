#ifndef CLI_MIGRATION_VIEW_H
#define CLI_MIGRATION_VIEW_H

/* From now on, a migration of a database that takes longer than a second is
 * reported on stderr: with a line, which is rewritten on a terminal. */
void migration_view_begin(void);

#endif
