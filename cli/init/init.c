#include "cli/agent/acp_preset.h"
#include "cli/agent/agent_edit.h"
#include "cli/config/config_edit.h"
#include "cli/init/init_ask.h"
#include "cli/init/local_models.h"
#include "cli/secret_input.h"

#include "lib/base/text.h"
#include "lib/os/file.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WITH       ACP_PRESETS "|openai|anthropic|endpoint|local|none"
#define PORT_FIRST 7411
#define PORT_LAST  7430

static const struct provider {
	const char *name, *endpoint, *model, *variable;
} providers[] = {
#define PROVIDER(name, endpoint, model, variable) \
	{#name, endpoint, model, variable},
#define LOCAL_MODEL(port, server)
#include "cli/init/endpoints.def"
#undef PROVIDER
#undef LOCAL_MODEL
};

#define NPROVIDERS (sizeof providers / sizeof *providers)

struct setup {
	const char *with; /* a word of WITH */
	const char *name; /* of the agent */
	const char *endpoint, *model;
	const char *variable;   /* where the key usually is */
	const char *credential; /* file of the key, or NULL */
	const char *path;
	const char *listen; /* of the dashboard, or NULL */
	bool tested;
};

static const struct provider *find_provider(const char *name)
{
	for (size_t i = 0; i < NPROVIDERS; i++)
		if (!strcmp(providers[i].name, name))
			return &providers[i];
	return NULL;
}

/* --- the home ----------------------------------------------------------- */

static int choose_home(struct cli *cli, struct err *e)
{
	const char *found = arena_text(&cli->arena, cli->home.root), *answer;

	if (cli_option(cli, "home") || file_exists(cli->home.root))
		return cli_make_control(cli, e);
	if (init_ask(cli, "home, the directory for all data", found, &answer,
		     e) ||
	    home_find(&cli->home, answer, e) || cli_make_control(cli, e))
		return -1;
	if (strcmp(cli->home.root, found) != 0)
		output_note(&cli->out,
			    "add this to your profile: export SKEP_HOME=%s",
			    cli->home.root);
	return 0;
}

/* --- the kind of agent -------------------------------------------------- */

struct choices {
	const char *text[32], *with[32];
	const struct local_model *model[32];
	int n;
};

static void add_choice(struct choices *c, const char *with, const char *text,
		       const struct local_model *model)
{
	c->text[c->n] = text;
	c->with[c->n] = with;
	c->model[c->n++] = model;
}

static void list_choices(struct cli *cli, struct choices *c,
			 const struct local_model *models, int nmodels)
{
	for (int i = 0; acp_preset_name(i); i++)
		if (acp_preset_is_here(i))
			add_choice(c, acp_preset_name(i),
				   arena_printf(&cli->arena,
						"%s, which is installed here",
						acp_preset_name(i)),
				   NULL);
	for (int i = 0; i < nmodels; i++)
		add_choice(c, "local",
			   arena_printf(&cli->arena, "%s at %s, model %s",
					models[i].server, models[i].endpoint,
					models[i].model),
			   &models[i]);
	add_choice(c, "openai", "a model of OpenAI, with an API key", NULL);
	add_choice(c, "anthropic", "a model of Anthropic, with an API key",
		   NULL);
	add_choice(c, "endpoint", "another server with OpenAI's API", NULL);
	add_choice(c, "none", "no agent yet", NULL);
}

static void use_model(struct setup *s, const struct local_model *m)
{
	s->endpoint = s->endpoint ? s->endpoint : m->endpoint;
	s->model = s->model ? s->model : m->model;
}

static int choose_kind(struct cli *cli, struct setup *s, struct err *e)
{
	struct local_model models[LOCAL_MODELS_MAX];
	struct choices c = {.n = 0};
	bool search = !s->with ? init_can_ask(cli) : !strcmp(s->with, "local");
	int n = search ? local_models_find(models, &cli->arena) : 0, chosen;

	if (s->with) {
		if (!strcmp(s->with, "local") && n == 0 && !s->endpoint)
			return err_set(e, ERR_NOTFOUND,
				       "no server of models answers on the "
				       "usual ports of this machine; start "
				       "one, or use --with endpoint --endpoint "
				       "URL");
		if (n > 0)
			use_model(s, &models[0]);
		return 0;
	}
	list_choices(cli, &c, models, n);
	if (init_choose(cli, "first agent", c.text, c.n,
			init_can_ask(cli) ? 0 : c.n - 1, &chosen, e))
		return -1;
	s->with = c.with[chosen];
	if (c.model[chosen])
		use_model(s, c.model[chosen]);
	return 0;
}

static bool is_chat(const struct setup *s)
{
	return find_provider(s->with) || !strcmp(s->with, "endpoint") ||
	       !strcmp(s->with, "local");
}

static int choose_model(struct cli *cli, struct setup *s, struct err *e)
{
	const struct provider *p = find_provider(s->with);

	if (!is_chat(s))
		return 0;
	s->variable = p ? p->variable : NULL;
	if (!s->endpoint && init_ask(cli, "address of the server",
				     p ? p->endpoint : "", &s->endpoint, e))
		return -1;
	if (!s->model &&
	    init_ask(cli, "model", p ? p->model : "", &s->model, e))
		return -1;
	if (!*s->endpoint || !*s->model)
		return err_set(e, ERR_USAGE,
			       "an agent with a model needs --endpoint and "
			       "--model");
	return 0;
}

/* --- the key ------------------------------------------------------------ */

/* A key is optional for a server of one's own. */
static bool wants_key(struct cli *cli, const struct setup *s)
{
	if (cli_option(cli, "key-file") || cli_option(cli, "key-env"))
		return true;
	return find_provider(s->with) != NULL;
}

static int store_key(struct cli *cli, struct setup *s, struct err *e)
{
	struct secret_source from = {.file = cli_option(cli, "key-file"),
				     .variable = cli_option(cli, "key-env"),
				     .prompt = "API key"};
	struct buf key = BUF_MAX(SECRET_MAX);
	const char *name = find_provider(s->with) ? s->with : s->name;
	struct home_path path = home_join(&cli->home, HOME_CREDENTIALS, name);
	int rc;

	if (!is_chat(s) || !wants_key(cli, s))
		return 0;
	s->credential = name;
	if (!from.file && !from.variable) {
		if (file_exists(path.text)) {
			output_note(&cli->out, "credential %s: kept", name);
			return 0;
		}
		if (getenv(s->variable))
			from.variable = s->variable;
		else if (!init_can_ask(cli))
			return err_set(e, ERR_USAGE,
				       "the API key is missing; give "
				       "--key-file FILE or --key-env VARIABLE, "
				       "or set %s",
				       s->variable);
	}
	rc = secret_read(&from, &key, e);
	if (!rc)
		rc = secret_store(&cli->home, name, &key, false, e);
	secret_clear(&key);
	if (rc >= 0)
		output_note(&cli->out, "credential %s: %s", name,
			    rc ? "stored with mode 0600" : "kept");
	return rc < 0 ? -1 : 0;
}

/* --- the agent ---------------------------------------------------------- */

static int choose_path(struct cli *cli, struct setup *s, struct err *e)
{
	const char *answer = cli_option(cli, "path");
	char here[PATH_MAX] = "", full[PATH_MAX];
	struct stat st;

	if (!answer && !getcwd(here, sizeof here))
		return err_errno_set(e, "the current directory");
	if (!answer && !init_can_ask(cli))
		return 0; /* its own directory in the home */
	if (!answer &&
	    init_ask(cli, "directory in which the agent works ('-': its own)",
		     here, &answer, e))
		return -1;
	if (!strcmp(answer, "-"))
		return 0;
	if (!realpath(answer, full) || stat(full, &st))
		return err_errno_set(e, "%s", quoted(answer).text);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is not a directory",
			       quoted(answer).text);
	s->path = arena_text(&cli->arena, full);
	return 0;
}

static cJSON *build_definition(const struct setup *s)
{
	cJSON *def = cJSON_CreateObject(), *config;

	if (s->path)
		cJSON_AddStringToObject(def, "path", s->path);
	if (!is_chat(s)) {
		acp_preset_apply(def, s->with);
		return def;
	}
	cJSON_AddStringToObject(def, "driver", "chat");
	cJSON_AddStringToObject(def, "model", s->model);
	config = cJSON_AddObjectToObject(def, "config");
	cJSON_AddStringToObject(config, "endpoint", s->endpoint);
	if (s->credential)
		cJSON_AddStringToObject(config, "key_file", s->credential);
	return def;
}

static int add_agent(struct cli *cli, const struct setup *s, struct err *e)
{
	struct agent_row row = {.name = s->name,
				.workspace = "disk",
				.is_enabled = true,
				.spec = "{}",
				.source = "command"};
	struct agent_text from = {.what = "the definition"};
	cJSON *def = build_definition(s);
	int rc;

	from.def = def;
	rc = agent_check_members(&from, &row, e) ||
			     agent_from_json(&row, "the definition", def,
					     &cli->arena, e) ||
			     (!is_chat(s) && acp_preset_make(s->with, e)) ||
			     agent_store(cli, &row, e)
		     ? -1
		     : 0;
	cJSON_Delete(def);
	if (!rc)
		output_note(&cli->out, "agent %s: added", s->name);
	return rc;
}

/* An agent with this name is kept, whatever it is. */
static int make_agent(struct cli *cli, struct setup *s, struct err *e)
{
	struct agent_row row;
	struct err missing;

	if (!strcmp(s->with, "none"))
		return 0;
	if (!s->name && init_ask(cli, "name of the agent",
				 is_chat(s) ? "helper" : s->with, &s->name, e))
		return -1;
	if (text_check_name("agent", s->name, e))
		return -1;
	if (agents_get(cli->control, s->name, &row, &cli->arena, &missing) ==
	    0) {
		output_note(&cli->out, "agent %s: exists and is kept", s->name);
		return 0;
	}
	if (missing.code != ERR_NOTFOUND) {
		*e = missing;
		return -1;
	}
	return choose_model(cli, s, e) || store_key(cli, s, e) ||
			       choose_path(cli, s, e) || add_agent(cli, s, e)
		       ? -1
		       : 0;
}

/* --- the dashboard ------------------------------------------------------ */

static bool is_free(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is = fd >= 0 &&
		  bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

static int set_listen(struct cli *cli, struct setup *s, struct err *e)
{
	struct buf diff = BUF_MAX(1u << 20);
	int port = PORT_FIRST, rc;

	while (port < PORT_LAST && !is_free(port))
		port++;
	s->listen = arena_printf(&cli->arena, "127.0.0.1:%d", port);
	rc = config_edit(&cli->home, "http.listen", s->listen, &diff, e);
	buf_fini(&diff);
	return rc < 0 ? -1 : 0;
}

static int choose_dashboard(struct cli *cli, struct setup *s, struct err *e)
{
	struct home_path file = home_path(&cli->home, HOME_CONFIG);
	bool wanted = cli_flag(cli, "dashboard");
	struct config c;

	if (config_load(&c, file.text, e))
		return -1;
	if (*c.http_listen)
		s->listen = arena_text(&cli->arena, c.http_listen);
	config_fini(&c);
	if (s->listen) {
		output_note(&cli->out, "http.listen: %s is kept", s->listen);
		return 0;
	}
	if (!wanted && !cli_flag(cli, "no-dashboard") &&
	    init_ask_yes(cli, "dashboard in the browser", true, &wanted, e))
		return -1;
	if (!wanted || (!cli_flag(cli, "dashboard") && !init_can_ask(cli)))
		return 0;
	if (set_listen(cli, s, e))
		return -1;
	output_note(&cli->out, "http.listen: set to %s", s->listen);
	return 0;
}

/* --- the end ------------------------------------------------------------ */

/* A failed test is reported, and the exit status is 1, but everything stays: the
 * user corrects it with 'skep agent set'. */
static int test_agent(struct cli *cli, struct setup *s, struct err *e)
{
	struct agent_trial how = {.prompt = false};
	struct agent_row row;

	if (!s->name || cli_flag(cli, "no-test"))
		return 0;
	if (agents_get(cli->control, s->name, &row, &cli->arena, e))
		return -1;
	output_note(&cli->out, "testing agent %s", s->name);
	if (agent_try(cli, &row, &how, e))
		return -1;
	s->tested = true;
	return 0;
}

static void list_next(struct cli *cli, const struct setup *s,
		      const char *next[3])
{
	const char *name = s->name ? s->name : "helper";

	next[0] = cli->supervised ? "skep restart" : "skep up";
	if (s->name)
		next[1] = arena_printf(&cli->arena,
				       "skep run %s 'Introduce yourself' "
				       "--follow",
				       name);
	else
		next[1] = "skep agent add helper --driver chat --endpoint URL "
			  "--model MODEL";
	if (s->listen)
		next[2] = "skep ui   # opens the dashboard";
	else
		next[2] = arena_printf(&cli->arena, "skep chat %s", name);
}

static void print_end(struct cli *cli, const struct setup *s)
{
	struct buf out = BUF_MAX(1u << 16);
	const char *next[3];

	list_next(cli, s, next);
	if (!cli->out.json) {
		output_note(&cli->out,
			    "home %s is ready; next:", cli->home.root);
		for (int i = 0; i < 3; i++)
			output_note(&cli->out, "  %s", next[i]);
		return;
	}
	json_begin_object(&out);
	json_put_text(&out, "home", cli->home.root);
	json_put_text(&out, "agent", s->name);
	json_put_text(&out, "credential", s->credential);
	json_put_text(&out, "listen", s->listen);
	json_put_bool(&out, "tested", s->tested);
	json_put_array(&out, "next");
	for (int i = 0; i < 3; i++)
		json_add_text(&out, next[i]);
	json_end_array(&out);
	json_end_object(&out);
	output_json(&cli->out, out.p);
	buf_fini(&out);
}

static int init(struct cli *cli, struct err *e)
{
	struct setup s = {.with = cli_option(cli, "with"),
			  .name = cli_option(cli, "name"),
			  .endpoint = cli_option(cli, "endpoint"),
			  .model = cli_option(cli, "model")};
	int rc;

	if (!s.with && (s.endpoint || s.model))
		s.with = "endpoint";
	if (choose_home(cli, e) || choose_kind(cli, &s, e) ||
	    make_agent(cli, &s, e) || choose_dashboard(cli, &s, e))
		return -1;
	rc = test_agent(cli, &s, e);
	print_end(cli, &s);
	return rc;
}

const struct command cmd_init = {
	.name = "init",
	.help = "prepare a home: an agent, its key and its directory",
	.about = "On a terminal, init asks for what the options do not give. "
		 "It offers agents that are installed, servers of models that "
		 "answer on the usual ports of this machine, and providers of "
		 "models. It stores the API key as a file in credentials/, "
		 "tests the agent without sending a prompt, and prints the "
		 "next commands.\n"
		 "\n"
		 "Init can be run again. It never changes an agent, a key or a "
		 "setting that exists.\n"
		 "\n"
		 "Examples:\n"
		 "  skep init\n"
		 "  skep init --with openai --key-env OPENAI_API_KEY --path .\n"
		 "  skep init --with local --name helper --no-dashboard",
	.needs = NEEDS_HOME,
	.options = OPTIONS(
		OPTION(WORD, 0, "with", WITH,
		       "first agent: a preset, a provider, a server with "
		       "OpenAI's API, one on this machine, or none"),
		OPTION(NAME, 0, "name", "AGENT",
		       "name of the agent (default: the preset, or helper)"),
		OPTION(TEXT, 0, "endpoint", "URL",
		       "address of the server, such as "
		       "http://127.0.0.1:8080/v1"),
		OPTION(TEXT, 'm', "model", "MODEL", "model to use"),
		OPTION(FILE, 0, "key-file", "FILE",
		       "read the API key from a file; '-' reads standard "
		       "input"),
		OPTION(TEXT, 0, "key-env", "VARIABLE",
		       "read the API key from a variable of the environment"),
		OPTION(FILE, 0, "path", "DIR",
		       "directory in which the agent works (default: its own "
		       "in the home)"),
		FLAG(0, "dashboard", "open a port on 127.0.0.1 for browsers"),
		FLAG(0, "no-dashboard", "open no port"),
		FLAG(0, "no-test", "do not test the agent"),
		OPT_YES("ask nothing; use the options and the defaults")),
	.run = init,
};
