#include "cli/acp_preset.h"

#include <stdio.h>
#include <string.h>

static const struct preset {
	const char *name;
	const char *command;
	const char *pass;
	const char *needs;
} presets[] = {
#define PRESET(name, command, pass, needs) {#name, command, pass, needs},
#include "cli/acp_presets.def"
#undef PRESET
};

static const struct preset *find(const char *name)
{
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
		if (name && strcmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}

const char *acp_preset_needs(const char *name)
{
	const struct preset *p = find(name);

	return p ? p->needs : NULL;
}

/* A list of the words of a text. */
static cJSON *words_of(const char *text)
{
	cJSON *list = cJSON_CreateArray();
	char word[128];

	while (*text) {
		size_t n = strcspn(text, " ");

		snprintf(word, sizeof word, "%.*s", (int)n, text);
		cJSON_AddItemToArray(list, cJSON_CreateString(word));
		text += n + strspn(text + n, " ");
	}
	return list;
}

static void add_words(cJSON *config, const char *name, const char *text)
{
	if (!cJSON_HasObjectItem(config, name))
		cJSON_AddItemToObject(config, name, words_of(text));
}

void acp_preset_apply(cJSON *def, const char *name)
{
	const struct preset *p = find(name);
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
}
