#include "schema/control/channel/mail_address.h"

#include "lib/base/text.h"

#include <string.h>

#define ADDRESS_MAX 254 /* RFC 5321 */
#define PERSON_MAX  256

static int wrong(const char *what, const char *text, struct err *e)
{
	return err_set(e, ERR_INVALID,
		       "%s '%s' is not a mail address such as "
		       "ann@example.org or Ann <ann@example.org>",
		       what, quoted(text).text);
}

static bool has_control(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127)
			return true;
	return false;
}

/* LOCAL@DOMAIN; quoted local parts are not supported. */
static bool is_address(const char *text)
{
	const char *at = strrchr(text, '@');

	return at && at != text && at[1] && strchr(text, '@') == at &&
	       strlen(text) <= ADDRESS_MAX && !strpbrk(text, " <>()\",;:\\");
}

int mail_address_read(struct mail_address *m, const char *what,
		      const char *text, struct arena *a, struct err *e)
{
	const char *open = strchr(text, '<');
	size_t n = strlen(text), name = open ? (size_t)(open - text) : 0;

	if (has_control(text) || (open && text[n - 1] != '>'))
		return wrong(what, text, e);
	m->address = open ? arena_textn(a, open + 1, n - name - 2)
			  : arena_text(a, text);
	while (name > 0 && text[name - 1] == ' ')
		name--;
	if (name > PERSON_MAX)
		return wrong(what, text, e);
	m->name = arena_textn(a, text, name);
	if (!is_address(m->address))
		return wrong(what, text, e);
	m->domain = strrchr(m->address, '@') + 1;
	return 0;
}
