#include "cli/agent/acp_preset.h"

#include "lib/base/text.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "lib/os/program_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_MS 60000 /* these agents take seconds to start */

static const struct preset {
	const char *name;
	const char *command;
	const char *pass;
	const char *env;    /* NAME=VALUE … */
	const char *writes; /* below the home directory */
	int node;           /* minimum version of node; 0: none */
	const char *needs;
} presets[] = {
#define PRESET(name, command, pass, env, writes, node, needs) \
	{#name, command, pass, env, writes, node, needs},
#include "cli/agent/acp_presets.def"
#undef PRESET
};

static const struct preset *find_preset(const char *name)
{
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
		if (name && strcmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}

const char *acp_preset_needs(const char *name)
{
	const struct preset *p = find_preset(name);

	return p ? p->needs : NULL;
}

const char *acp_preset_name(int i)
{
	return (size_t)i < sizeof presets / sizeof *presets ? presets[i].name
							    : NULL;
}

/* A preset that npx downloads is "here" if its own program is: otherwise every
 * machine with node would have all of them. */
bool acp_preset_is_here(int i)
{
	const struct preset *p = &presets[i];
	size_t n = strcspn(p->command, " ");
	char word[64];

	if (strncmp(p->command, "npx ", 4) == 0)
		return program_in_path(p->name, NULL) &&
		       program_in_path("npx", NULL);
	text_printf(word, sizeof word, "%.*s", (int)n, p->command);
	return program_in_path(word, NULL);
}

/* Splits a text into words and adds a prefix to each. */
static cJSON *words_of(const char *before, const char *text)
{
	cJSON *list = cJSON_CreateArray();
	char word[PATH_MAX];

	while (*text) {
		size_t n = strcspn(text, " ");

		snprintf(word, sizeof word, "%s%.*s", before, (int)n, text);
		cJSON_AddItemToArray(list, cJSON_CreateString(word));
		text += n + strspn(text + n, " ");
	}
	return list;
}

static void add_words(cJSON *config, const char *name, const char *text)
{
	if (!cJSON_HasObjectItem(config, name))
		cJSON_AddItemToObject(config, name, words_of("", text));
}

/* Variables that the definition sets are kept. */
static void add_env(cJSON *config, const char *text)
{
	cJSON *env = cJSON_GetObjectItemCaseSensitive(config, "env");
	char name[128], value[256];

	while (*text) {
		size_t n = strcspn(text, " "), k = strcspn(text, "=");

		snprintf(name, sizeof name, "%.*s", (int)k, text);
		snprintf(value, sizeof value, "%.*s", (int)(n - k - 1),
			 text + k + 1);
		if (!env)
			env = cJSON_AddObjectToObject(config, "env");
		if (cJSON_IsObject(env) && !cJSON_HasObjectItem(env, name))
			cJSON_AddStringToObject(env, name, value);
		text += n + strspn(text + n, " ");
	}
}

/* These agents need the network. */
static void add_network(cJSON *def)
{
	if (!cJSON_HasObjectItem(def, "network"))
		cJSON_AddStringToObject(def, "network", "host");
}

/* The sandbox hides the home directory except for these paths. */
static void add_paths(cJSON *def, const char *writes)
{
	const char *home = getenv("HOME");
	char before[PATH_MAX];
	cJSON *paths;

	if (!home || home[0] != '/' || cJSON_HasObjectItem(def, "paths"))
		return;
	snprintf(before, sizeof before, "%s/", home);
	paths = cJSON_AddObjectToObject(def, "paths");
	cJSON_AddItemToObject(paths, "write", words_of(before, writes));
}

/* Creates a directory or, for a name with an extension, a JSON file. */
static int make_place(const char *home, const char *name, size_t n,
		      struct err *e)
{
	char path[PATH_MAX];
	const char *dot;

	snprintf(path, sizeof path, "%s/%.*s", home, (int)n, name);
	dot = strrchr(path, '.');
	if (dot && dot[-1] != '/')
		return file_exists(path)
			       ? 0
			       : atomic_file_write(path, "{}\n", 3, 0600, e);
	return file_make_dir(path, 0700, e);
}

int acp_preset_make(const char *name, struct err *e)
{
	const struct preset *p = find_preset(name);
	const char *home = getenv("HOME"), *at = p ? p->writes : "";

	if (!home || home[0] != '/')
		return 0;
	while (*at) {
		size_t n = strcspn(at, " ");

		if (make_place(home, at, n, e))
			return -1;
		at += n + strspn(at + n, " ");
	}
	return 0;
}

int acp_preset_node(const char *name, const cJSON *config)
{
	const struct preset *p = find_preset(name);
	const char *first = cJSON_GetStringValue(cJSON_GetArrayItem(
		cJSON_GetObjectItemCaseSensitive(config, "command"), 0));
	size_t n = p ? strcspn(p->command, " ") : 0;

	return p && first && strlen(first) == n &&
			       strncmp(first, p->command, n) == 0
		       ? p->node
		       : 0;
}

void acp_preset_apply(cJSON *def, const char *name)
{
	const struct preset *p = find_preset(name);
	cJSON *config = cJSON_GetObjectItemCaseSensitive(def, "config");

	if (!p)
		return;
	if (!cJSON_HasObjectItem(def, "driver"))
		cJSON_AddStringToObject(def, "driver", "acp");
	cJSON_DeleteItemFromObjectCaseSensitive(def, "preset");
	cJSON_AddStringToObject(def, "preset", p->name);
	if (!config)
		config = cJSON_AddObjectToObject(def, "config");
	if (!cJSON_HasObjectItem(config, "shell"))
		add_words(config, "command", p->command);
	add_words(config, "pass", p->pass);
	add_env(config, p->env);
	if (!cJSON_HasObjectItem(config, "idle_ms"))
		cJSON_AddNumberToObject(config, "idle_ms", KEEP_MS);
	add_network(def);
	add_paths(def, p->writes);
}
