#ifndef SCHEMA_CONTROL_CHANNEL_MAIL_ADDRESS_H
#define SCHEMA_CONTROL_CHANNEL_MAIL_ADDRESS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"

/*
 * The receiver of a mail: "ann@example.org" or "Ann <ann@example.org>".
 * Characters that could end a header or an SMTP command are rejected, so that a
 * given address cannot cause mails to other receivers.
 */
struct mail_address {
	const char *name;    /* for display; "" if there is none */
	const char *address; /* LOCAL@DOMAIN */
	const char *domain;  /* points into it */
};

/* Texts are in the arena. ERR_INVALID names `what`. */
int mail_address_read(struct mail_address *m, const char *what,
		      const char *text, struct arena *a, struct err *e);

#endif
