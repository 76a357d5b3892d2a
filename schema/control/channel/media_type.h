#ifndef SCHEMA_CONTROL_CHANNEL_MEDIA_TYPE_H
#define SCHEMA_CONTROL_CHANNEL_MEDIA_TYPE_H

#include "lib/base/shape.h"

#define MEDIA_TYPE_MAX 128
#define MEDIA_ANY      "application/octet-stream"

/*
 * The type of an attachment: what its bytes say where they leave no doubt, else
 * what was declared if that is a type at all ("text/plain", parameters left
 * out), else what the bytes hint at. Never NULL; points into `room`, or is
 * constant.
 */
const char *media_type(const char *declared, struct blob bytes,
		       char room[MEDIA_TYPE_MAX]);

#endif
