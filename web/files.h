#ifndef WEB_FILES_H
#define WEB_FILES_H

#include <stddef.h>

/* The files of the dashboard, compressed. web/embed.cmake writes the table. */
struct web_file {
	const char *name;
	const char *type; /* Content-Type */
	const char *etag;
	const unsigned char *gzip, *gzip_end;
};

extern const struct web_file web_files[];
extern const size_t web_nfiles;

#endif
