#ifndef SCHEMA_SECRET_H
#define SCHEMA_SECRET_H

#include "lib/json/json.h"

/*
 * Secrets that are about to be stored: definitions are rows, are shown, and are
 * in backups; a command line is in the list of processes. Secrets are recognised
 * by the name of what holds them and by their own form (secret.def). References
 * ("$NAME", {"env": NAME}, {"file": NAME}, NAME_file) are none.
 */

/* -1 with ERR_INVALID if a value anywhere in the definition is one. The error
 * names its place, below `what`, and says where it belongs instead. Nesting over
 * 64 levels is refused. */
int secret_check(const char *what, const cJSON *root, struct err *e);

/* The same for the words of a command. */
int secret_check_words(const char *what, const cJSON *words, struct err *e);

#endif
