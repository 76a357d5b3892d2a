#ifndef SCHEMA_SECRET_H
#define SCHEMA_SECRET_H

#include "lib/json/json.h"

/*
 * Detects secrets before they are stored: definitions are rows, are shown, and
 * are in backups; a command line is in the list of processes. Secrets are
 * recognised by the name of their member and by their own form (secret.def).
 * References ("$NAME", {"env": NAME}, {"file": NAME}, NAME_file) are not
 * secrets.
 */

/* -1 with ERR_INVALID if a value anywhere in the definition is a secret. The
 * error has its path, below `what`, and says where to store it instead. Nesting
 * over 64 levels is rejected. */
int secret_check(const char *what, const cJSON *root, struct err *e);

/* The same for the words of a command. */
int secret_check_words(const char *what, const cJSON *words, struct err *e);

#endif
