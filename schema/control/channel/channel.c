#include "schema/control/channel/channel.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "schema/control/agent.h"
#include "schema/control/channel/channel_delete.h"
#include "schema/control/control.h"
#include "schema/vocab.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REMOVE_ROWS 1000

/* --- definitions ------------------------------------------------------ */

int channels_get(struct sql *db, const char *name, struct channel_row *row,
		 struct arena *a, struct err *e)
{
	int found = sql_get(db, Q_CHANNEL_GET, &(struct channel_get_in){name},
			    row, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no channel '%s'",
			       quoted(name).text);
	return found < 0 ? -1 : 0;
}

/* The command of a plugin is a list of words; the first one is a program. */
static int check_command(const char *kind, const cJSON *command, struct err *e)
{
	const cJSON *v;

	if (strcmp(kind, "plugin") != 0)
		return command && !cJSON_IsNull(command)
			       ? err_set(e, ERR_INVALID,
					 "only a plugin has a command")
			       : 0;
	if (!cJSON_IsArray(command) || cJSON_GetArraySize(command) == 0)
		return err_set(e, ERR_INVALID,
			       "a plugin needs a command, an array of "
			       "strings");
	cJSON_ArrayForEach(v, command)
	{
		if (!cJSON_IsString(v) ||
		    (v == command->child && !v->valuestring[0]))
			return err_set(
				e, ERR_INVALID,
				"the command of a plugin must be an array of "
				"strings");
	}
	return 0;
}

static char *json_of(const cJSON *v, struct arena *a)
{
	struct buf b = BUF_MAX(CHANNEL_CONFIG_MAX);
	char *out;

	json_add(&b, v);
	out = b.over ? NULL : arena_text(a, b.p);
	buf_fini(&b);
	return out;
}

static int known_members(const cJSON *def, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, def)
	{
		if (!vocab_has("kind|enabled|command|config", v->string))
			return err_set(
				e, ERR_INVALID,
				"unknown member %s of a channel; the members "
				"are kind, enabled, command and config",
				quoted(v->string).text);
	}
	return 0;
}

static int fill_channel(struct channel_put_in *in, const cJSON *def,
			struct arena *a, struct err *e)
{
	const cJSON *command = cJSON_GetObjectItem(def, "command");
	const cJSON *config = cJSON_GetObjectItem(def, "config");
	struct channel_config parsed;

	if (command) {
		if (check_command(in->kind, command, e))
			return -1;
		in->command = cJSON_IsNull(command) ? NULL
						    : json_of(command, a);
		if (!in->command && !cJSON_IsNull(command))
			return err_set(
				e, ERR_TOOBIG,
				"the command is longer than %u bytes; put it "
				"in a script and use the script as the command",
				CHANNEL_CONFIG_MAX);
	}
	if (config) {
		if (!cJSON_IsObject(config))
			return err_set(e, ERR_INVALID,
				       "config must be a JSON object");
		in->config = json_of(config, a);
	}
	if (channel_check_secrets(config, command, e))
		return -1;
	if (!in->config)
		return err_set(e, ERR_TOOBIG,
			       "config is larger than %u bytes; store large "
			       "values in a file and name the file",
			       CHANNEL_CONFIG_MAX);
	if (!strcmp(in->kind, "plugin") && !in->command)
		return check_command(in->kind, NULL, e);
	in->is_enabled = json_bool(def, "enabled", in->is_enabled);
	return channel_config_read(&parsed, in->kind, in->config, a, e);
}

const char *channel_kind(const char *word)
{
	return strcmp(word, "stdio") ? word : "pull";
}

int channels_put(struct sql *db, const char *name, const cJSON *def,
		 const char *by, struct err *e)
{
	struct id id = id_new(ID_CHANNEL);
	struct channel_put_in in = {.name = name,
				    .id = id.text,
				    .is_enabled = true,
				    .config = "{}",
				    .now = clock_now()};
	struct channel_row old;
	struct arena a = {0};
	const char *kind = json_text(def, "kind", NULL);
	int rc = sql_get(db, Q_CHANNEL_GET, &(struct channel_get_in){name},
			 &old, &a, e);

	if (rc == 1) {
		in.kind = old.kind;
		in.command = old.command;
		in.config = old.config;
		in.is_enabled = old.is_enabled;
		if (channel_check_not_deleting(&old, e))
			rc = -1;
		else if (kind && strcmp(channel_kind(kind), old.kind) != 0)
			rc = err_set(e, ERR_CONFLICT,
				     "channel %s is a %s; the kind of a "
				     "channel cannot change",
				     name, old.kind);
	} else if (rc == 0) {
		in.kind = kind ? channel_kind(kind) : "";
		rc = text_check_word("kind", CHANNEL_KINDS, in.kind, e);
	}
	if (rc >= 0 &&
	    (text_check_name("channel", name, e) || known_members(def, e) ||
	     fill_channel(&in, def, &a, e) ||
	     sql_exec(db, Q_CHANNEL_PUT, &in, e) < 0 ||
	     control_audit(db, by, "channel.put", name, NULL, e)))
		rc = -1;
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

int channels_remove(struct sql *db, const char *name, const char *by,
		    struct err *e)
{
	struct channel_deletion r = {0};
	int n = channel_delete_begin(db, name, by, e) ||
				channel_delete_lost(db, name, e)
			? -1
			: 1;

	while (n > 0)
		n = channel_delete_step(&r, db, name, REMOVE_ROWS, e);
	return n;
}

/* --- a new home ------------------------------------------------------- */

/* Describes an agent that needs no model, and how to add one. */
static const char default_agent[] =
	"{\"driver\":\"script\",\"config\":{\"steps\":[{\"event\":{\"type\":"
	"\"message\",\"role\":\"assistant\",\"content\":\"I am the default "
	"agent of this home and have no model yet. 'skep agent set main' "
	"changes my definition, and 'skep agent add' defines other "
	"agents.\"}}]}}";

static int seed_agent(struct sql *db, struct arena *a, struct err *e)
{
	struct agent_row row = {.name = "main",
				.workspace = "disk",
				.is_enabled = true,
				.is_default = true,
				.spec = "{}",
				.source = "command"};
	struct agent_row known;
	cJSON *def;
	int rc = sql_get(db, Q_AGENT_GET_DEFAULT, NULL, &known, a, e);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	def = json_parse_object("agent", default_agent, strlen(default_agent),
				e);
	rc = def ? agent_from_json(&row, "agent", def, a, e) : -1;
	if (rc == 0)
		rc = agents_put(db, &row, a, e) < 0 ? -1 : 0;
	cJSON_Delete(def);
	return rc;
}

static int seed_channel(struct sql *db, struct arena *a, struct err *e)
{
	struct id id = id_new(ID_CHANNEL);
	struct channel_put_in in = {.name = "local",
				    .id = id.text,
				    .kind = "pull",
				    .is_enabled = true,
				    .config = "{}",
				    .now = clock_now()};
	struct channel_row known;
	int rc = sql_get(db, Q_CHANNEL_GET, &(struct channel_get_in){in.name},
			 &known, a, e);

	if (rc == 0)
		rc = sql_exec(db, Q_CHANNEL_PUT, &in, e);
	return rc < 0 ? -1 : 0;
}

int channels_seed(struct sql *db, struct err *e)
{
	const struct passwd *pw = getpwuid(getuid());
	struct id id = id_new(ID_USER);
	struct user_add_in owner = {.id = id.text,
				    .name = pw ? pw->pw_name : "owner",
				    .role = "owner",
				    .now = clock_now()};
	struct user_count_row people = {0};
	struct arena a = {0};
	int rc;

	if (sql_get(db, Q_USER_COUNT, NULL, &people, NULL, e) < 0)
		return -1;
	if (people.n > 0)
		return 0;
	rc = seed_agent(db, &a, e) || seed_channel(db, &a, e) ||
			     sql_exec(db, Q_USER_ADD, &owner, e) < 0
		     ? -1
		     : 0;
	arena_fini(&a);
	return rc;
}

/* --- who talks with whom ---------------------------------------------- */

/* Source of the binding: 2 explicit, 1 default agent, 0 none. */
static int find_binding(struct sql *db, const struct conversation_key *t,
			struct binding_row *b, struct arena *a, struct err *e)
{
	struct binding_find_in key = {t->channel, t->peer, t->kind};
	struct agent_row agent;
	int found = sql_get(db, Q_BINDING_FIND, &key, b, a, e);

	if (found != 0)
		return found < 0 ? -1 : 2;
	*b = (struct binding_row){.agent = t->agent[0] ? t->agent : NULL,
				  .session_per = "conversation"};
	if (b->agent)
		return 2;
	found = sql_get(db, Q_AGENT_GET_DEFAULT, NULL, &agent, a, e);
	if (found == 1)
		b->agent = agent.name;
	return found;
}

static int add_conversation(struct sql *db, const struct conversation_key *t,
			    const char *thread, const struct binding_row *b,
			    int64_t now, struct err *e)
{
	struct id id = id_new(ID_CONVERSATION);
	char key[256];
	struct conversation_add_in in = {
		.id = id.text,
		.channel = t->channel,
		.peer = t->peer,
		.thread = thread,
		.kind = t->kind,
		.title = t->title,
		.agent = b->agent,
		.session = b->session,
		.now = now,
	};

	/* The key of a session has at most 256 bytes; the row identifies the
	 * conversation. */
	if (!b->session) {
		int n = snprintf(key, sizeof key, "%s/%s%s%s", t->channel,
				 t->peer, thread[0] ? "/" : "", thread);

		if (n < 0 || n >= (int)sizeof key)
			snprintf(key, sizeof key, "%s/%s", t->channel, id.text);
		in.session = key;
	}
	return sql_exec(db, Q_CONVERSATION_ADD, &in, e) < 0 ? -1 : 0;
}

/* The conversation has no agent, or its agent was deleted: the bindings decide
 * again. The default agent does not take over a conversation of another
 * agent. */
static int refill(struct sql *db, struct conversation_row *row,
		  const struct binding_row *b, int word, struct arena *a,
		  struct err *e)
{
	struct conversation_bind_in set = {
		row->id, b->agent, b->session ? b->session : row->session};
	struct agent_row known;
	int there = 0;

	if (row->agent)
		there = sql_get(db, Q_AGENT_GET,
				&(struct agent_get_in){row->agent}, &known, a,
				e);
	if (there != 0)
		return there < 0 ? -1 : 0;
	if (word < (row->agent ? 2 : 1))
		return 0;
	if (!set.session)
		set.session = arena_printf(a, "%s/%s", row->channel, row->id);
	row->agent = set.agent;
	row->session = set.session;
	return sql_exec(db, Q_CONVERSATION_BIND, &set, e) < 0 ? -1 : 0;
}

int conversation_open(struct sql *db, const struct conversation_key *t,
		      int64_t now, struct conversation_row *row,
		      struct arena *a, struct err *e)
{
	struct conversation_find_in key = {t->channel, t->peer, ""};
	struct binding_row b;
	int found, word = find_binding(db, t, &b, a, e);

	if (word < 0)
		return -1;
	if (!strcmp(b.session_per, "sender"))
		key.thread = t->sender;
	found = sql_get(db, Q_CONVERSATION_FIND, &key, row, a, e);
	if (found == 1)
		return refill(db, row, &b, word, a, e);
	if (found < 0 || add_conversation(db, t, key.thread, &b, now, e))
		return -1;
	return sql_get(db, Q_CONVERSATION_FIND, &key, row, a, e) < 0 ? -1 : 0;
}

int binding_set(struct sql *db, const struct binding_row *b, const char *by,
		struct err *e)
{
	struct binding_put_in in = {b->channel, b->peer,    b->kind,
				    b->agent,   b->session, b->session_per,
				    clock_now()};
	struct conversation_rebind_in set = {
		.channel = b->channel,
		.peer = b->peer,
		.kind = b->kind,
		.agent = b->agent,
		.session = b->session,
		.is_threaded = !strcmp(b->session_per, "sender"),
	};

	if (sql_exec(db, Q_BINDING_PUT, &in, e) < 0 ||
	    sql_exec(db, Q_CONVERSATION_REBIND, &set, e) < 0)
		return -1;
	return control_audit(db, by, "channel.bind", b->channel, NULL, e);
}
