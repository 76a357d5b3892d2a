#ifndef SCHEMA_CONTROL_CHANNEL_MAIL_ADDRESS_H
#define SCHEMA_CONTROL_CHANNEL_MAIL_ADDRESS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"

/*
 * Who gets a mail: "ann@example.org" or "Ann <ann@example.org>". What could end
 * a header or an SMTP command early is refused, so that nobody whose address we
 * were given writes to others in our name.
 */
struct mail_address {
	const char *name;    /* for people; "" if there is none */
	const char *address; /* LOCAL@DOMAIN */
	const char *domain;  /* points into it */
};

/* Texts are the arena's. ERR_INVALID names `what`. */
int mail_address_read(struct mail_address *m, const char *what,
		      const char *text, struct arena *a, struct err *e);

#endif
