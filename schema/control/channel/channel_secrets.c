/* Detects secrets in settings, which are shown, and in command lines, which are
 * in the list of processes. */
#include "schema/control/channel/channel.h"

#include "schema/secret.h"

#include <string.h>

int channel_check_secrets(const cJSON *config, const cJSON *command,
			  struct err *e)
{
	if (config && secret_check("config", config, e))
		return -1;
	return secret_check_words("a word of the command", command, e);
}

int channel_check_url(const char *what, const char *url, struct err *e)
{
	const char *host = strstr(url, "://"), *end;

	if (!host)
		return 0;
	host += 3;
	end = host + strcspn(host, "/?#");
	for (const char *p = host; p < end; p++)
		if (*p == '@')
			return err_set(e, ERR_INVALID,
				       "%s must not contain a user name or a "
				       "password",
				       what);
	return 0;
}
