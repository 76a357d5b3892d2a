#ifndef CLI_RUN_ATTACHMENT_H
#define CLI_RUN_ATTACHMENT_H

#include "lib/base/buf.h"

/* Appends {"name": …, "base64": …} with the bytes of a file, under the file's
 * own name; "-" is standard input. skepd sees by the bytes what it is. */
int attachment_add(const char *path, struct buf *json, struct err *e);

#endif
