#include "worker/driver/headers.h"

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "schema/home.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define SECRET_MAX 16384

int secret_read(char **out, const char *name, const char *home, struct err *e)
{
	struct buf b = BUF_MAX(SECRET_MAX);
	char path[PATH_MAX];
	struct stat st;
	int rc;

	if (name[0] == '/')
		snprintf(path, sizeof path, "%s", name);
	else
		snprintf(path, sizeof path, "%s/credentials/%s",
			 home ? home : "", name);
	if (stat(path, &st))
		return err_set(e, ERR_INVALID, "cannot read the key file %s",
			       path);
	if (st.st_mode & 077)
		return err_set(e, ERR_INVALID,
			       "other users can read the key file %s; use "
			       "chmod 600",
			       path);
	rc = file_read(path, &b, e);
	while (rc == 0 && b.n > 0 && strchr(" \t\r\n", b.p[b.n - 1]))
		b.p[--b.n] = '\0';
	if (rc == 0 && (b.n == 0 || strpbrk(b.p, "\r\n")))
		rc = err_set(e, ERR_INVALID,
			     "the key file %s must contain exactly one "
			     "line",
			     path);
	if (rc == 0 && !(*out = strdup(b.p)))
		abort();
	if (b.n > 0)
		explicit_bzero(b.p, b.n);
	buf_fini(&b);
	return rc;
}

static bool is_name(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789!#$%&'*+-.^_`|~";

	return name[0] && !name[strspn(name, allowed)];
}

static bool is_value(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ' && *value != '\t')
			return false;
	return true;
}

static bool is_secret(const char *name)
{
	static const char *const words[] = {"authorization", "cookie",
					    "key",           "token",
					    "secret",        "password"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

/* {"file": name} or {"env": NAME}, optionally with a "prefix". */
static const char *read_reference(const cJSON *v, const char *home,
				  struct arena *a, struct err *e)
{
	const char *file = json_text(v, "file", NULL);
	const char *env = json_text(v, "env", NULL);
	const char *value = env ? home_env(env) : NULL;
	char *secret = NULL;

	if (!file == !env) {
		err_set(e, ERR_INVALID,
			"a value must be a string, {\"file\": name} or "
			"{\"env\": name}");
		return NULL;
	}
	if (env && !value)
		err_set(e, ERR_INVALID,
			"the environment of skepd has no variable %s",
			quoted(env).text);
	if (env ? !value : secret_read(&secret, file, home, e))
		return NULL;
	value = arena_printf(a, "%s%s", json_text(v, "prefix", ""),
			     secret ? secret : value);
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
	return value;
}

static int read_header(struct header *h, const cJSON *v, const char *home,
		       struct arena *a, struct err *e)
{
	h->name = arena_text(a, v->string);
	if (!is_name(v->string))
		return err_set(e, ERR_INVALID, "it is not a valid header name");
	if (!cJSON_IsString(v))
		h->value = read_reference(v, home, a, e);
	else if (is_secret(v->string))
		return err_set(e, ERR_INVALID,
			       "it contains a secret, which a definition must "
			       "not contain; use {\"file\": name in "
			       "credentials/} or {\"env\": name}");
	else
		h->value = arena_text(a, v->valuestring);
	if (!h->value)
		return -1;
	if (cJSON_IsObject(v))
		h->secret = h->value + strlen(json_text(v, "prefix", ""));
	return is_value(h->value)
		       ? 0
		       : err_set(e, ERR_INVALID,
				 "its value contains a control character");
}

int headers_read(struct headers *h, const cJSON *v, const char *home,
		 struct arena *a, struct err *e)
{
	const cJSON *m;

	*h = (struct headers){0};
	if (v && !cJSON_IsObject(v))
		return err_set(e, ERR_INVALID, "headers must be an object");
	h->list = arena_alloc(a, (size_t)(cJSON_GetArraySize(v) + 1) *
					 sizeof *h->list);
	cJSON_ArrayForEach(m, v)
	{
		if (read_header(&h->list[h->n++], m, home, a, e))
			return err_wrap(e, "headers.%s",
					quoted(m->string).text);
	}
	return 0;
}
