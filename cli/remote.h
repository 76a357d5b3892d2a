#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "cli/cli.h"
#include "lib/base/id.h"
#include "lib/json/json.h"

/* Prints or parses responses of the supervisor. */

/* Parses the response as JSON, which the caller frees; NULL with the error. */
cJSON *remote_call(struct cli *cli, const char *method, const char *path,
		   const char *body, struct err *e);

/* Prints the first items of a list as JSON, one object per line. */
int remote_print_first(struct cli *cli, const char *path, int64_t most,
		       struct err *e);

/* Adds the array "scopes" of the option --scope, if there is one. */
int remote_put_scopes(struct cli *cli, struct buf *body, struct err *e);

/* Prints the result of a command. */
void remote_done(struct cli *cli, const cJSON *answer);

/* The result of a command: a sentence, or the response with --json. */
void remote_result(struct cli *cli, const cJSON *answer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* POSTs, and prints the note of the response, or the object with --json. */
int remote_post(struct cli *cli, const char *path, const char *body,
		struct err *e);

/* Reads members of a JSON object into the struct of a shape; texts are
 * borrowed. */
void remote_read(const cJSON *obj, const struct shape *shape, void *out);

/* "/v1/runs/ID/verb"; a word that is not an id of that kind is ERR_USAGE. */
const char *remote_path(struct cli *cli, enum id_kind kind, const char *id,
			const char *verb, struct err *e);

/* {"name": "text"}, in the command's arena. */
const char *remote_text(struct cli *cli, const char *name, const char *text);

#endif
