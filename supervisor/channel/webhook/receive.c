/* Authenticates messages to webhook channels. Without a valid signature, the
 * answer is the same whether or not the channel exists or is open. */
#include "supervisor/channel/webhook/receive.h"

#include <openssl/crypto.h>
#include <string.h>

const char *webhook_secret(const struct supervisor *s, const char *name,
			   const struct channel_config *config, struct arena *a)
{
	const char *file = config->secret_file;
	struct home_path path;

	if (!file[0])
		file = arena_printf(a, "channel-%s.secret", name);
	path = home_join(&s->home, HOME_CREDENTIALS, file);
	return arena_text(a, path.text);
}

int webhook_keys_read(struct secret_file *f, struct webhook_keys **out,
		      struct err *e)
{
	struct buf text = BUF_MAX(8192);
	int rc = secret_file_read(f, &text, e);

	if (rc == 0 && webhook_keys_new(out, text.p, e))
		rc = err_wrap(e, "%s", f->path);
	if (text.p)
		OPENSSL_cleanse(text.p, text.n);
	buf_fini(&text);
	return rc;
}

/* The keys of a webhook channel that exists but is not open, or NULL. */
static struct webhook_keys *closed_keys(struct supervisor *s, const char *name,
					struct webhook_claim *claim,
					struct arena *a)
{
	struct webhook_keys *keys = NULL;
	struct channel_config config;
	struct secret_file file = {0};
	struct channel_row row;
	struct err e;

	if (channels_get(s->db, name, &row, a, &e) ||
	    strcmp(row.kind, channel_webhook.kind) != 0 ||
	    channel_config_read(&config, row.kind, row.config, a, &e))
		return NULL;
	claim->tolerance_ms = config.tolerance;
	file.path = webhook_secret(s, name, &config, a);
	return webhook_keys_read(&file, &keys, &e) ? NULL : keys;
}

static int admit_closed(struct supervisor *s, const char *name,
			struct webhook_claim *claim, struct err *e)
{
	struct arena a = {0};
	struct webhook_keys *keys = closed_keys(s, name, claim, &a);
	int rc = webhook_verify(keys, claim, e);

	webhook_keys_free(keys);
	arena_fini(&a);
	if (rc)
		return -1;
	return err_set(e, ERR_BUSY,
		       "channel '%s' is not accepting messages; "
		       "retry later",
		       name);
}

int webhook_admit(struct supervisor *s, const char *name,
		  struct webhook_claim *claim, struct err *e)
{
	struct channel *c = channel_find(s, name);

	if (!c)
		return admit_closed(s, name, claim, e);
	if (c->ops != &channel_webhook)
		return webhook_verify(NULL, claim, e);
	claim->tolerance_ms = c->config.tolerance;
	return webhook_verify(webhook_keys_of(c), claim, e);
}
