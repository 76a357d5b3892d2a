#ifndef LIB_JSON_BASE64_H
#define LIB_JSON_BASE64_H

#include "lib/base/buf.h"

#include <stddef.h>

/* Base64 with padding (RFC 4648). */
void base64_add(struct buf *b, const void *p, size_t n);

/* Appends the decoded bytes of n characters; white space is skipped. -1 with
 * ERR_INVALID if they are not base64, ERR_TOOBIG over b's ceiling. */
int base64_decode(struct buf *b, const char *text, size_t n, struct err *e);

#endif
