#ifndef OPS_MAINTAIN_AUDIT_EXPORT_H
#define OPS_MAINTAIN_AUDIT_EXPORT_H

#include "lib/base/err.h"
#include "schema/home.h"

/*
 * The audit log outlives its table: before a control plane is deleted, its rows
 * are appended to a file of the home, one JSON object per line, and synced.
 * skep never deletes that file.
 */
#define AUDIT_FILE "audit.log" /* in HOME_LOGS */

struct sql;

int audit_archive(struct sql *control, const struct home *home, struct err *e);

#endif
