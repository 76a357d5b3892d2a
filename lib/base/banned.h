/* Included before every file: functions that are easy to get wrong do not
 * compile. Each has a better one beside it. */
#ifndef LIB_BASE_BANNED_H
#define LIB_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* snprintf, or a struct buf */
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
/* text_i64 in lib/base/text.h: they cannot tell 0 from rubbish */
#pragma GCC poison atoi atol atoll
/* not reentrant: strtok_r, localtime_r, gmtime_r */
#pragma GCC poison strtok localtime gmtime asctime
/* a field of kernel headers has this name, so only the call is banned */
#define ctime(t) use_clock_text_instead_of_ctime(t)

#endif
