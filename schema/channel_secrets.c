/* Secrets that somebody is about to put where everybody can see them: settings
 * are shown, and a command line is in the list of processes. */
#include "schema/channels.h"

#include "base/text.h"
#include "schema/agents.h"

#include <ctype.h>
#include <string.h>

#define NAME_BYTES 64

/* "--Bot-Token" as "bottoken". */
static void plain_name(const char *p, size_t n, char *out)
{
	size_t k = 0;

	for (size_t i = 0; i < n && k < NAME_BYTES - 1; i++)
		if (isalnum((unsigned char)p[i]))
			out[k++] = (char)tolower((unsigned char)p[i]);
	out[k] = '\0';
}

/* Does the name end as names of secrets do? What names a file does not. */
static bool is_secret(const char *p, size_t n)
{
	static const char *const ends[] = {
		"token",  "secret",     "password",  "passwd",
		"apikey", "privatekey", "accesskey", "authorization"};
	char name[NAME_BYTES];
	size_t len;

	plain_name(p, n, name);
	len = strlen(name);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		size_t end = strlen(ends[i]);

		if (len >= end && !strcmp(name + len - end, ends[i]))
			return true;
	}
	return false;
}

static int refuse(const char *where, const char *p, size_t n, struct err *e)
{
	return err_set(e, ERR_INVALID,
		       "%s: '%s' looks like a secret, and would be shown; put "
		       "it in a file in credentials/ and name that file "
		       "(%s_file)",
		       where, quotedn(p, n).text, quotedn(p, n).text);
}

static int check_words(const cJSON *command, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, command)
	{
		const char *word = v->valuestring, *eq;
		const char *next = v->next ? v->next->valuestring : "-";
		size_t dashes, n;

		if (!word)
			continue; /* refused elsewhere */
		dashes = strspn(word, "-");
		eq = strchr(word, '=');
		n = eq ? (size_t)(eq - word) : strlen(word);
		if (n <= dashes || !is_secret(word, n))
			continue;
		if (eq ? eq[1] : dashes && next && next[0] && next[0] != '-')
			return refuse("command", word + dashes, n - dashes, e);
	}
	return 0;
}

int channel_check_secrets(const cJSON *config, const cJSON *command,
			  struct err *e)
{
	const cJSON *v;

	if (config && agent_check_secrets("config", config, e))
		return -1;
	cJSON_ArrayForEach(v, config)
	{
		if (cJSON_IsString(v) && v->valuestring[0] &&
		    is_secret(v->string, strlen(v->string)))
			return refuse("config", v->string, strlen(v->string),
				      e);
	}
	return check_words(command, e);
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
				       "%s has a name or a password in it, "
				       "which would be shown",
				       what);
	return 0;
}
