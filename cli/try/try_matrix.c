#include "cli/try/try_matrix.h"

#include "cli/cli.h"
#include "lib/base/text.h"

#include <string.h>

#define FILE_MAX (16u << 20)

static const struct {
	const char *name;
	int (*fits)(const cJSON *v);
	const char *kind;
} members[] = {
	{"agents", cJSON_IsArray, "a list of names"},
	{"prompts", cJSON_IsArray, "a list of texts"},
	{"settings", cJSON_IsArray, "a list of objects"},
	{"runs", cJSON_IsNumber, "a number"},
	{"seed", cJSON_IsNumber, "a number"},
	{"from", cJSON_IsString, "a text"},
	{"check", cJSON_IsString, "a text"},
};

static int check_member(const cJSON *v, const char *path, struct err *e)
{
	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		if (strcmp(members[i].name, v->string) != 0)
			continue;
		return members[i].fits(v)
			       ? 0
			       : err_set(e, ERR_INVALID, "%s: %s must be %s",
					 path, v->string, members[i].kind);
	}
	return err_set(e, ERR_INVALID,
		       "%s: unknown member %s; a matrix has agents, prompts, "
		       "settings, runs, seed, from and check",
		       path, quoted(v->string).text);
}

static int check_items(const cJSON *list, int (*fits)(const cJSON *v),
		       const char *path, struct err *e)
{
	const cJSON *v;

	if (list && !list->child)
		return err_set(e, ERR_INVALID, "%s: %s is empty", path,
			       list->string);
	cJSON_ArrayForEach(v, list)
	{
		if (!fits(v))
			return err_set(e, ERR_INVALID,
				       "%s: each element of %s must be %s",
				       path, list->string,
				       fits == cJSON_IsString ? "a text"
							      : "an object");
	}
	return 0;
}

static int check_file(const struct try_matrix *m, const char *path,
		      struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, m->file)
	{
		if (check_member(v, path, e))
			return -1;
	}
	return check_items(json_member(m->file, "agents"), cJSON_IsString, path,
			   e) ||
			       check_items(json_member(m->file, "prompts"),
					   cJSON_IsString, path, e) ||
			       check_items(json_member(m->file, "settings"),
					   cJSON_IsObject, path, e)
		       ? -1
		       : 0;
}

int try_matrix_read(struct try_matrix *m, const char *path, struct err *e)
{
	struct buf b = BUF_MAX(FILE_MAX);
	int rc = cli_read_text(path, path, &b, e);

	if (rc == 0) {
		m->file = json_parse_object(path, b.p, b.n, e);
		rc = m->file ? check_file(m, path, e) : -1;
	}
	buf_fini(&b);
	if (rc)
		return -1;
	m->agents = cJSON_Duplicate(json_member(m->file, "agents"), true);
	m->runs = json_i64(m->file, "runs", 0);
	m->seed = json_i64(m->file, "seed", 0);
	m->from = json_text(m->file, "from", NULL);
	m->check = json_text(m->file, "check", NULL);
	return 0;
}

void try_matrix_fini(struct try_matrix *m)
{
	cJSON_Delete(m->file);
	cJSON_Delete(m->agents);
	m->file = m->agents = NULL;
}

/* One combination; counts are those of the lists. */
struct combination {
	const char *agent, *prompt;
	const cJSON *setting; /* or NULL */
	int nth_prompt, nth_setting;
	int prompts, settings;
};

/* The name says where the variant differs from others: "ada/p2/hot". */
static void write_name(const struct combination *c, struct buf *out)
{
	struct buf name = BUF_MAX(4096);

	buf_adds(&name, c->agent);
	if (c->prompts > 1)
		buf_addf(&name, "/p%d", c->nth_prompt);
	if (c->settings > 1 && json_text(c->setting, "name", NULL))
		buf_addf(&name, "/%s", json_text(c->setting, "name", NULL));
	else if (c->settings > 1)
		buf_addf(&name, "/s%d", c->nth_setting);
	json_put_text(out, "name", name.p);
	buf_fini(&name);
}

static int write_variant(const struct combination *c, struct buf *out,
			 struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, c->setting)
	{
		if (strcmp(v->string, "name") != 0 &&
		    strcmp(v->string, "config") != 0)
			return err_set(e, ERR_INVALID,
				       "settings: unknown member %s; a setting "
				       "has name and config",
				       quoted(v->string).text);
	}
	json_begin_object(out);
	write_name(c, out);
	json_put_text(out, "agent", c->agent);
	json_put_text(out, "prompt", c->prompt);
	json_put(out, "config", json_member(c->setting, "config"));
	json_end_object(out);
	return 0;
}

/* The settings of one agent and prompt. */
static int write_settings(struct combination *c, const cJSON *settings,
			  struct buf *out, struct err *e)
{
	const cJSON *v;

	if (!settings)
		return write_variant(c, out, e);
	c->nth_setting = 0;
	cJSON_ArrayForEach(v, settings)
	{
		c->setting = v;
		c->nth_setting++;
		if (write_variant(c, out, e))
			return -1;
	}
	return 0;
}

static int write_prompts(const struct try_matrix *m, struct combination *c,
			 struct buf *out, struct err *e)
{
	const cJSON *prompts = json_member(m->file, "prompts"), *p;
	const cJSON *settings = json_member(m->file, "settings");

	c->settings = cJSON_GetArraySize(settings);
	c->prompts = m->prompt ? 1 : cJSON_GetArraySize(prompts);
	c->nth_prompt = 1;
	c->prompt = m->prompt;
	if (m->prompt)
		return write_settings(c, settings, out, e);
	if (!prompts)
		return err_set(e, ERR_USAGE,
			       "there is no prompt: give PROMPT, or a matrix "
			       "with prompts");
	cJSON_ArrayForEach(p, prompts)
	{
		c->prompt = p->valuestring;
		if (write_settings(c, settings, out, e))
			return -1;
		c->nth_prompt++;
	}
	return 0;
}

static int write_variants(const struct try_matrix *m, struct buf *out,
			  struct err *e)
{
	struct combination c = {.agent = m->agent};
	const cJSON *name;

	if (!m->agents)
		return write_prompts(m, &c, out, e);
	cJSON_ArrayForEach(name, m->agents)
	{
		c.agent = name->valuestring;
		if (text_check_name("agent", c.agent, e) ||
		    write_prompts(m, &c, out, e))
			return -1;
	}
	return 0;
}

int try_matrix_write(const struct try_matrix *m, struct buf *out, struct err *e)
{
	int rc;

	json_begin_object(out);
	json_put_text(out, "agent", m->agent);
	json_put_text(out, "from", m->from);
	json_put_text(out, "check", m->check);
	if (m->runs)
		json_put_int(out, "runs", m->runs);
	if (m->seed)
		json_put_int(out, "seed", m->seed);
	if (m->keep)
		json_put_bool(out, "keep", true);
	json_put_array(out, "variants");
	rc = write_variants(m, out, e);
	json_end_array(out);
	json_end_object(out);
	return rc;
}
