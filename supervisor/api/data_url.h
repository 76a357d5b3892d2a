#ifndef SUPERVISOR_API_DATA_URL_H
#define SUPERVISOR_API_DATA_URL_H

#include "lib/base/buf.h"

/* Adds the file of data:TYPE;base64,DATA to a list of attachments, a JSON array
 * that has begun. type: NULL for that of the URL. */
int data_url_attach(const char *url, const char *name, const char *type,
		    struct buf *attachments, struct err *e);

#endif
