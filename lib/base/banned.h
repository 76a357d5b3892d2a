/* Included before every file: functions that are easy to misuse do not compile.
 * Each comment names the replacement. */
#ifndef LIB_BASE_BANNED_H
#define LIB_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* snprintf, or a struct buf */
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
/* text_i64 in lib/base/text.h: these cannot distinguish 0 from an error */
#pragma GCC poison atoi atol atoll
/* not reentrant: strtok_r, localtime_r, gmtime_r */
#pragma GCC poison strtok localtime gmtime asctime
/* a field of kernel headers has this name, so only the call is banned */
#define ctime(t) use_clock_text_instead_of_ctime(t)

#endif
