#ifndef WORKER_PROCESS_PROGRAMS_H
#define WORKER_PROCESS_PROGRAMS_H

#include "lib/base/arena.h"
#include "lib/sandbox/spec.h"

/*
 * Home directories are hidden from commands, but programs are often installed
 * there. These can be read: directories of PATH, the program that the
 * definition names with the libraries beside it, and files and directories that
 * its command names. `config` is that of the driver, as JSON or NULL; `home` is
 * skep's, which is never shown. Texts are in a.
 */
void programs_show(struct sandbox_paths *shown, const char *config,
		   const char *home, struct arena *a);

#endif
