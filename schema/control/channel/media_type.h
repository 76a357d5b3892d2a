#ifndef SCHEMA_CONTROL_CHANNEL_MEDIA_TYPE_H
#define SCHEMA_CONTROL_CHANNEL_MEDIA_TYPE_H

#include "lib/base/shape.h"

#define MEDIA_TYPE_MAX 128
#define MEDIA_ANY      "application/octet-stream"

/*
 * The type of an attachment: that of its bytes if they are unambiguous, else
 * the declared one if it is valid ("text/plain", without parameters), else a
 * guess from the bytes. Never NULL; points into `room`, or is constant.
 */
const char *media_type(const char *declared, struct blob bytes,
		       char room[MEDIA_TYPE_MAX]);

#endif
