#ifndef WORKER_PROCESS_PROGRAMS_H
#define WORKER_PROCESS_PROGRAMS_H

#include "lib/base/arena.h"
#include "lib/sandbox/written.h"

/*
 * Home directories are hidden from commands, but programs are often installed
 * there. These can be read: directories of PATH, the program that the
 * definition names with the libraries beside it, and files and directories that
 * its command names. `config` is that of the driver, as JSON or NULL; `home` is
 * skep's, which is never shown. Links in what the run writes are not followed.
 * Texts are in a.
 */
struct programs_request {
	const char *config, *home;
	struct written written;
};

void programs_show(struct sandbox_paths *shown,
		   const struct programs_request *request, struct arena *a);

#endif
