#ifndef CLI_RUN_ATTACHMENT_H
#define CLI_RUN_ATTACHMENT_H

#include "lib/base/buf.h"

/* Appends {"name": …, "base64": …} with the content of a file and its name; "-"
 * is standard input. skepd detects the type from the content. */
int attachment_add(const char *path, struct buf *json, struct err *e);

#endif
