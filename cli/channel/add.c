#include "cli/channel/channel_cli.h"
#include "lib/base/text.h"
#include "lib/json/base64.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "schema/control/channel/channel_delete.h"

#include <string.h>

#define SECRET_BYTES 32

/* Creates a secret for a webhook, which needs one. */
static int make_secret(struct cli *cli, const cJSON *def, struct err *e)
{
	const char *name = json_text(cJSON_GetObjectItem(def, "config"),
				     "secret_file", "");
	unsigned char raw[SECRET_BYTES];
	struct buf text = BUF_MAX(128);
	struct home_path path;
	int rc = 0;

	if (!name[0])
		name = arena_printf(&cli->arena, "channel-%s.secret",
				    cli_arg(cli, 0));
	path = home_join(&cli->home, HOME_CREDENTIALS, name);
	if (file_exists(path.text))
		return 0;
	id_random(raw, sizeof raw);
	buf_adds(&text, "whsec_");
	base64_add(&text, raw, sizeof raw);
	buf_addc(&text, '\n');
	rc = atomic_file_write(path.text, text.p, text.n, 0600, e);
	buf_fini(&text);
	if (rc == 0)
		output_note(&cli->out, "created the secret %s", path.text);
	return rc;
}

static int refuse_known(struct cli *cli, const char *name, struct err *e)
{
	struct channel_row row;
	struct err none;

	if (channels_get(cli->control, name, &row, &cli->arena, &none))
		return 0;
	if (channel_check_not_deleting(&row, e))
		return -1;
	return err_set(e, ERR_CONFLICT,
		       "channel '%s' already exists; 'skep channel "
		       "set' changes it",
		       name);
}

/* Deletes the secret again if the settings are invalid. */
static int check_settings(struct cli *cli, const char *kind, const cJSON *def,
			  struct err *e)
{
	struct buf b = BUF_MAX(CHANNEL_CONFIG_MAX);
	struct channel_config parsed;
	int rc;

	json_add(&b, cJSON_GetObjectItem(def, "config"));
	rc = buf_ok(&b, "the settings", e) ||
			     channel_config_read(&parsed, kind, b.p,
						 &cli->arena, e)
		     ? -1
		     : 0;
	buf_fini(&b);
	return rc;
}

static int channel_add(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	const char *kind = channel_kind(cli_arg(cli, 1));
	cJSON *def;
	int rc;

	if (text_check_name("channel", name, e) ||
	    text_check_word("KIND", CHANNEL_KINDS, kind, e) ||
	    refuse_known(cli, name, e))
		return -1;
	if (!strcmp(kind, "plugin") && !cli_arg(cli, 2))
		return err_set(e, ERR_USAGE,
			       "a plugin needs a command: skep channel add "
			       "%s plugin -- COMMAND...",
			       name);
	def = cJSON_CreateObject();
	cJSON_AddStringToObject(def, "kind", kind);
	if (cli_flag(cli, "disabled"))
		cJSON_AddBoolToObject(def, "enabled", false);
	channel_command(cli, 2, def);
	rc = channel_settings(cli, def, e) || check_settings(cli, kind, def, e)
		     ? -1
		     : 0;
	if (rc == 0 && !strcmp(kind, "webhook"))
		rc = make_secret(cli, def, e);
	if (rc == 0)
		rc = channel_store(cli, name, def, e);
	cJSON_Delete(def);
	return rc ? -1 : channel_print_stored(cli, name, "added", e);
}

const struct command cmd_channel_add = {
	.name = "channel add",
	.args = "CHANNEL KIND [COMMAND...]",
	.help = "create a channel",
	.about = "A running supervisor starts to use the channel at once. A "
		 "webhook needs the setting url to send messages, smtp needs "
		 "server and from, and a plugin needs COMMAND.\n"
		 "\n"
		 "Secrets are files in the credentials directory of the home, "
		 "named by secret_file and password_file. If a webhook has no "
		 "secret, one is generated.\n"
		 "\n"
		 "A plugin runs in a sandbox. The settings sandbox, network, "
		 "limits and paths configure it, as for an agent. The "
		 "default of network is host.\n"
		 "\n"
		 "Examples:\n"
		 "  skep channel add log file\n"
		 "  skep channel add bot plugin -- python3 bot.py\n"
		 "\n"
		 "Settings by kind of channel (* for all kinds). A time has "
		 "the unit ms, s, m, h or d; a size k, m or g:"
#define DEFAULT_text(d)   ""
#define DEFAULT_word(d)   " (default " d ")"
#define DEFAULT_int(d)    " (default " #d ")"
#define WITH_UNIT(n, u)   #n #u
#define DEFAULT_millis(d) " (default " WITH_UNIT d ")"
#define DEFAULT_bytes(d)  " (default " WITH_UNIT d ")"
#define SETTING(name_, type, def, min, max, words_, kinds_, help_) \
	"\n\t" #name_ "=" words_ "  [" kinds_ "] " help_ DEFAULT_##type(def)
#include "schema/control/channel/channel_setting.def"
#undef SETTING
	,
	.needs = NEEDS_CONTROL_MADE,
	.arguments = ARGUMENTS(
		{"CHANNEL",
		 "name of the new channel: letters, digits, '-', '_' "
		 "and '.'"},
		{"KIND", "file, webhook, smtp, pull or plugin"},
		{"COMMAND", "program of a plugin and its arguments; put -- "
			    "before it"}),
	.options = OPTIONS(
		OPTION(MANY, 0, "set", "KEY=VALUE",
		       "change a setting; VALUE is JSON or plain text; may "
		       "be repeated"),
		FLAG(0, "disabled", "create the channel disabled")),
	.run = channel_add,
};
