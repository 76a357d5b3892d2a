#ifndef OPS_MAINTAIN_AUDIT_EXPORT_H
#define OPS_MAINTAIN_AUDIT_EXPORT_H

#include "lib/base/err.h"
#include "schema/home.h"

/*
 * The audit log outlives the table that it is in: before a control plane is
 * removed, its rows are added to a file of the home, a JSON object a line, on
 * the disk when this returns. Nothing of skep's removes that file.
 */
#define AUDIT_FILE "audit.log" /* in HOME_LOGS */

struct sql;

int audit_keep(struct sql *control, const struct home *home, struct err *e);

#endif
