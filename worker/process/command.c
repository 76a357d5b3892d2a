#include "worker/process/command.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/definition.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX     4096
#define CONTEXT_MORE 20

static const char *const always[] = {
#define PASS(name) name,
#include "worker/process/environment.def"
#undef PASS
};

static const char *const network[] = {
#define PASS(name)      name,
#define PASS_FILE(name) name,
#define PASS_AS(from, to, member)
#include "worker/driver/acp/env.def"
#undef PASS
#undef PASS_FILE
#undef PASS_AS
};

static const char *const certificates[] = {
#define PASS(name)
#define PASS_FILE(name) name,
#define PASS_AS(from, to, member)
#include "worker/driver/acp/env.def"
#undef PASS
#undef PASS_FILE
#undef PASS_AS
};

static const struct derived {
	const char *from, *to, *member;
} derived[] = {
#define PASS(name)
#define PASS_FILE(name)
#define PASS_AS(from, to, member) {from, to, member},
#include "worker/driver/acp/env.def"
#undef PASS
#undef PASS_FILE
#undef PASS_AS
};

static const char *const stdin_words[] = {[STDIN_LINES] = "lines",
					  [STDIN_ONCE] = "once",
					  [STDIN_TEXT] = "text",
					  [STDIN_NONE] = "none"};

struct list {
	char **p;
	int n;
};

static void list_init(struct list *l, struct arena *a)
{
	l->p = arena_alloc(a, (LIST_MAX + 1) * sizeof *l->p);
	l->n = 0;
}

static int list_add(struct list *l, char *text, struct err *e)
{
	if (l->n == LIST_MAX)
		return err_set(e, ERR_INVALID, "more than %d entries",
			       LIST_MAX);
	l->p[l->n++] = text;
	return 0;
}

/* NULL: not set. */
static const char *value_of(const struct list *l, const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; i < l->n; i++)
		if (strncmp(l->p[i], name, n) == 0 && l->p[i][n] == '=')
			return l->p[i] + n + 1;
	return NULL;
}

/* The first value of a name wins: explicit values are added first. */
static int set_variable(struct list *l, struct arena *a, const char *name,
			const char *value, struct err *e)
{
	if (!value || value_of(l, name))
		return 0;
	return list_add(l, arena_printf(a, "%s=%s", name, value), e);
}

int exec_config_members(const char *driver, const char *const *known,
			const cJSON *v, struct err *e)
{
	struct buf all = BUF_MAX(400);
	const cJSON *m;
	int rc = 0;

	for (int i = 0; known[i]; i++)
		buf_addf(&all, "%s%s", i ? ", " : "", known[i]);
	cJSON_ArrayForEach(m, v)
	{
		int i = 0;

		while (known[i] && strcmp(known[i], m->string) != 0)
			i++;
		if (!known[i] && rc == 0)
			rc = err_set(e, ERR_INVALID,
				     "%s: unknown setting %s; the settings are "
				     "%s",
				     driver, quoted(m->string).text, all.p);
	}
	buf_fini(&all);
	return rc;
}

static int read_command(struct exec_config *c, const cJSON *v, struct arena *a,
			struct err *e)
{
	const cJSON *command = cJSON_GetObjectItemCaseSensitive(v, "command");
	const char *shell = json_text(v, "shell", NULL);
	const cJSON *arg;
	struct list l;

	list_init(&l, a);
	c->argv = l.p;
	if (shell && !command) {
		l.p[0] = arena_text(a, "/bin/sh");
		l.p[1] = arena_text(a, "-c");
		l.p[2] = arena_text(a, shell);
		return 0;
	}
	if (shell || !cJSON_IsArray(command) || !command->child)
		return err_set(
			e, ERR_INVALID,
			"the driver needs \"command\": [program, argument, …] "
			"or \"shell\": text");
	cJSON_ArrayForEach(arg, command)
	{
		if (!cJSON_IsString(arg))
			return err_set(e, ERR_INVALID,
				       "command must contain only strings");
		if (list_add(&l, arena_text(a, arg->valuestring), e))
			return err_wrap(e, "command");
	}
	return l.p[0][0] ? 0 : err_set(e, ERR_INVALID, "the command is empty");
}

static bool is_env_name(const char *name)
{
	return name && name[0] && !strchr(name, '=');
}

static int read_env(struct list *l, const cJSON *v, struct arena *a,
		    struct err *e)
{
	const cJSON *env = cJSON_GetObjectItemCaseSensitive(v, "env");
	const cJSON *pass = cJSON_GetObjectItemCaseSensitive(v, "pass");
	const cJSON *m;

	if ((env && !cJSON_IsObject(env)) || (pass && !cJSON_IsArray(pass)))
		return err_set(e, ERR_INVALID,
			       "env must be an object, and pass an array");
	cJSON_ArrayForEach(m, env)
	{
		if (!cJSON_IsString(m) || !is_env_name(m->string))
			return err_set(e, ERR_INVALID,
				       "env.%s must be a string",
				       quoted(m->string).text);
		if (set_variable(l, a, m->string, m->valuestring, e))
			return -1;
	}
	cJSON_ArrayForEach(m, pass)
	{
		if (!cJSON_IsString(m) || !is_env_name(m->valuestring))
			return err_set(e, ERR_INVALID,
				       "pass must contain only names");
		if (set_variable(l, a, m->valuestring, getenv(m->valuestring),
				 e))
			return -1;
	}
	return 0;
}

static int make_env(struct exec_config *c, const cJSON *v,
		    const struct msg_start *s, struct arena *a, struct err *e)
{
	struct list l;

	list_init(&l, a);
	c->env = l.p;
	if (set_variable(&l, a, "SKEP_RUN_ID", s->run, e) ||
	    set_variable(&l, a, "SKEP_ATTEMPT",
			 arena_printf(a, "%" PRId64, s->attempt), e) ||
	    set_variable(&l, a, "SKEP_AGENT", s->agent, e) ||
	    set_variable(&l, a, "SKEP_SESSION", s->session, e) ||
	    set_variable(&l, a, "SKEP_WORKSPACE", c->cwd, e) ||
	    read_env(&l, v, a, e))
		return -1;
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		if (set_variable(&l, a, always[i], getenv(always[i]), e))
			return -1;
	return 0;
}

static void read_rest(struct exec_config *c, const cJSON *v)
{
	const char *word = json_text(v, "stdin", stdin_words[STDIN_LINES]);
	size_t n = sizeof stdin_words / sizeof *stdin_words, i = 0;

	while (i < n && strcmp(stdin_words[i], word) != 0)
		i++;
	assert(i < n); /* definition_check_config has checked it */
	c->in = (enum exec_stdin)i;
	c->context = json_i64(v, "context", CONTEXT_MORE);
}

int exec_config_command(struct exec_config *c, const cJSON *v,
			const struct msg_start *s, struct arena *a,
			struct err *e)
{
	return read_command(c, v, a, e) || make_env(c, v, s, a, e) ? -1 : 0;
}

int exec_config_read(struct exec_config *c, const struct msg_start *s,
		     const char *cwd, struct arena *a, struct err *e)
{
	const char *text = s->config ? s->config : "{}";
	cJSON *v = json_parse_object("exec", text, strlen(text), e);
	int rc;

	*c = (struct exec_config){.cwd = cwd};
	if (!v)
		return -1;
	rc = definition_check_config("exec", v, e) ||
			     exec_config_command(c, v, s, a, e)
		     ? -1
		     : 0;
	if (rc == 0)
		read_rest(c, v);
	cJSON_Delete(v);
	return rc;
}

static bool ends_with(const char *name, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n > k && strncmp(name + n - k, end, k) == 0;
}

static int pass_ending(struct list *l, struct arena *a, const char *end,
		       struct err *e)
{
	for (char **v = environ; *v; v++) {
		size_t n = strcspn(*v, "=");

		if ((*v)[n] && ends_with(*v, n, end) &&
		    set_variable(l, a, arena_textn(a, *v, n), *v + n + 1, e))
			return -1;
	}
	return 0;
}

static int derive(struct list *l, struct arena *a, const struct derived *d,
		  struct err *e)
{
	const char *value = value_of(l, d->from);
	struct buf b = BUF_MAX(64u << 10);
	int rc;

	if (!value || !value[0])
		return 0;
	json_begin_object(&b);
	json_put_text(&b, d->member, value);
	json_end_object(&b);
	rc = set_variable(l, a, d->to, b.p, e);
	buf_fini(&b);
	return rc;
}

int exec_config_network(struct exec_config *c, struct arena *a, struct err *e)
{
	struct list l = {c->env, 0};

	while (l.p[l.n])
		l.n++;
	for (size_t i = 0; i < sizeof network / sizeof *network; i++) {
		const char *name = network[i];

		if (name[0] == '*' ? pass_ending(&l, a, name + 1, e)
				   : set_variable(&l, a, name, getenv(name), e))
			return -1;
	}
	for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
		if (derive(&l, a, &derived[i], e))
			return -1;
	return 0;
}

const char *exec_config_certificates(size_t n)
{
	const char *value;

	if (n >= sizeof certificates / sizeof *certificates)
		return NULL;
	value = getenv(certificates[n]);
	return value && value[0] == '/' ? value : "";
}
