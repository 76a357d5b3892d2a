#ifndef CLI_HELP_MAN_H
#define CLI_HELP_MAN_H

#include <stdio.h>

/* Man pages, generated from the tables of commands and of the configuration. */
void man_skep(FILE *to);                   /* skep.1 */
void man_noun(FILE *to, const char *noun); /* skep-NOUN.1 */
void man_config(FILE *to);                 /* skep.json.5 */

#endif
