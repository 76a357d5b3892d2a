#include "vfs/transfer/libarchive.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define LIBRARY "libarchive.so.13"

struct libarchive libarchive;

static const struct {
	const char *name;
	size_t at; /* in struct libarchive */
} calls[] = {
#define CALL(name) {"archive_" #name, offsetof(struct libarchive, name)},
#include "vfs/transfer/libarchive.def"
#undef CALL
};

/* It stays loaded for the life of the process. */
int libarchive_load(struct err *e)
{
	static void *library;
	struct libarchive found = {0};

	if (library)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library && i < sizeof calls / sizeof *calls; i++) {
		void *call = dlsym(library, calls[i].name);

		memcpy((char *)&found + calls[i].at, &call, sizeof call);
		if (!call) {
			(void)dlclose(library);
			library = NULL;
		}
	}
	if (!library)
		return err_set(e, ERR_UNSUPPORTED, "libarchive: %s", dlerror());
	libarchive = found;
	return 0;
}
