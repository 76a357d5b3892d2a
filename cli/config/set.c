#include "cli/config/config_edit.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "vfs/snapshot/udiff.h"

#include <string.h>

#define FILE_MAX (1u << 20)
#define INDENT   2 /* a line for each key */

int config_check_listen(const struct config *c, const char *file, struct err *e)
{
	char host[TEXT_HOST], port[TEXT_PORT];

	if (!*c->http_listen || !text_address(c->http_listen, host, port, e))
		return 0;
	e->code = ERR_CONFIG;
	return err_wrap(e, "%s: http.listen", file);
}

static int check_text(const char *file, const struct buf *text, struct err *e)
{
	struct config c;
	int rc;

	config_defaults(&c);
	rc = config_parse(&c, file, text->p, text->n, e) ||
			     config_check_listen(&c, file, e)
		     ? -1
		     : 0;
	config_fini(&c);
	return rc;
}

/* The whole file with the new value; takes v. */
static void write_new_config(const cJSON *old, const char *key, cJSON *v,
			     struct buf *out)
{
	cJSON *root = cJSON_Duplicate(old, true), *section;
	struct buf compact = BUF_MAX(FILE_MAX);
	const char *dot = strchr(key, '.');
	char name[64];

	text_printf(name, sizeof name, "%.*s", (int)(dot - key), key);
	section = cJSON_GetObjectItemCaseSensitive(root, name);
	if (!section)
		section = cJSON_AddObjectToObject(root, name);
	if (cJSON_GetObjectItemCaseSensitive(section, dot + 1))
		cJSON_ReplaceItemInObjectCaseSensitive(section, dot + 1, v);
	else if (!cJSON_AddItemToObject(section, dot + 1, v))
		cJSON_Delete(v); /* the section is not an object */
	json_add(&compact, root);
	buf_clear(out);
	json_indent(out, compact.p, INDENT);
	if (out->n && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
	buf_fini(&compact);
	cJSON_Delete(root);
}

/* A value that is not valid as JSON may be valid as text: "off", "30s". */
static int write_checked(const char *file, const cJSON *old, const char *key,
			 const char *value, struct buf *out, struct err *e)
{
	struct err as_text, ignored;
	cJSON *v = json_parse("value", value, strlen(value), &ignored);
	bool is_json = v != NULL, is_string = cJSON_IsString(v);

	if (!text_is_utf8(value, strlen(value)))
		return err_set(e, ERR_USAGE, "the value is not valid UTF-8");
	if (is_json) {
		write_new_config(old, key, v, out);
		if (check_text(file, out, e) == 0)
			return 0;
		if (is_string)
			return -1;
	}
	write_new_config(old, key, cJSON_CreateString(value), out);
	return check_text(file, out, is_json ? &as_text : e);
}

static int read_old_config(const char *path, struct buf *text, cJSON **root,
			   struct err *e)
{
	if (!file_exists(path)) {
		*root = cJSON_CreateObject();
		return 0;
	}
	if (file_read(path, text, e))
		return -1;
	/* as a whole: a key must not be added to a broken file */
	if (check_text(path, text, e))
		return -1;
	*root = json_parse_object(path, text->p, text->n, e);
	return *root ? 0 : -1;
}

int config_edit(const struct home *home, const char *key, const char *value,
		struct buf *diff, struct err *e)
{
	struct home_path path = home_path(home, HOME_CONFIG);
	struct buf old = BUF_MAX(FILE_MAX), new = BUF_MAX(2 * FILE_MAX);
	struct udiff d = {.path = "skep.json", .is_new = true};
	cJSON *root = NULL;
	int rc = config_check_key(key, e)
			 ? -1
			 : read_old_config(path.text, &old, &root, e);

	if (!rc)
		rc = write_checked(path.text, root, key, value, &new, e);
	if (!rc && (old.n != new.n || memcmp(old.p, new.p, new.n))) {
		d.is_new = old.n == 0;
		d.a = old.p ? old.p : "";
		d.an = old.n;
		d.b = new.p;
		d.bn = new.n;
		udiff(&d, diff);
		rc = home_make(home, e) || atomic_file_write(path.text, new.p,
							     new.n, 0600, e)
			     ? -1
			     : 1;
	}
	cJSON_Delete(root);
	buf_fini(&old);
	buf_fini(&new);
	return rc;
}

static int config_set(struct cli *cli, struct err *e)
{
	const char *key = cli_arg(cli, 0), *value = cli_arg(cli, 1);
	struct buf diff = BUF_MAX(4 * FILE_MAX), out = BUF_MAX(8 * FILE_MAX);
	int changed = config_edit(&cli->home, key, value, &diff, e);

	if (changed >= 0 && cli->out.json) {
		json_begin_object(&out);
		json_put_text(&out, "key", key);
		json_put_bool(&out, "changed", changed > 0);
		json_put_text(&out, "diff", diff.p ? diff.p : "");
		json_end_object(&out);
		output_json(&cli->out, out.p);
	} else if (changed > 0) {
		output_text(&cli->out, diff.p, diff.n);
		output_note(&cli->out, "a running supervisor uses it after "
				       "'skep restart'");
	} else if (changed == 0) {
		output_note(&cli->out, "%s is unchanged", key);
	}
	buf_fini(&diff);
	buf_fini(&out);
	return changed < 0 ? -1 : 0;
}

const struct command cmd_config_set = {
	.name = "config set",
	.args = "KEY VALUE",
	.help = "change a key of the configuration file",
	.about = "The new file is checked first and replaces the old one "
		 "atomically. The change is printed. Other keys are kept.\n"
		 "\n"
		 "Examples:\n"
		 "  skep config set http.listen 127.0.0.1:7411\n"
		 "  skep config set run.grace 10s",
	.needs = NEEDS_HOME,
	.arguments = ARGUMENTS(
		{"KEY", "SECTION.NAME; 'skep config show' lists them"},
		{"VALUE", "new value: JSON or plain text"}),
	.may_be_empty = "VALUE",
	.run = config_set,
};
