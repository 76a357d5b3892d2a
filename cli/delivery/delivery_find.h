#ifndef CLI_DELIVERY_DELIVERY_FIND_H
#define CLI_DELIVERY_DELIVERY_FIND_H

#include "cli/cli.h"

/* The delivery of this id; ERR_NOTFOUND. Texts live in the command's arena. */
int delivery_find(struct cli *cli, const char *id, struct delivery_row *row,
		  struct err *e);

#endif
