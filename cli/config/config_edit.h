#ifndef CLI_CONFIG_CONFIG_EDIT_H
#define CLI_CONFIG_CONFIG_EDIT_H

#include "cli/cli.h"

/* Changes of skep.json. */

/* ERR_CONFIG if http.listen is not an address. skepd finds out whether it can
 * listen there. */
int config_check_listen(const struct config *c, const char *file,
			struct err *e);

/*
 * Sets a key and replaces the file atomically, if the new file is valid. The
 * value is JSON or plain text. The other members are kept. `diff` gets the
 * change as a unified diff. Returns 1, or 0 if nothing changes.
 */
int config_edit(const struct home *home, const char *key, const char *value,
		struct buf *diff, struct err *e);

#endif
