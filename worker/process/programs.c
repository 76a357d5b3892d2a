#include "worker/process/programs.h"

#include "lib/json/json.h"
#include "lib/sandbox/homes.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULES "/node_modules/"

struct programs {
	const struct programs_request *request;
	struct arena *arena;
	struct sandbox_paths *shown;
	struct homes homes;
};

/* Other paths are visible anyway; skep's own home is never shown. */
static void show_place(struct programs *p, const char *place)
{
	const char *own = homes_real(&p->homes, p->request->home, p->arena);

	place = homes_real(&p->homes, place, p->arena);
	if (!homes_contain(&p->homes, place) || access(place, F_OK) ||
	    (own && (path_is_below(place, own) || path_is_below(own, place))))
		return;
	for (int i = 0; i < p->homes.n; i++)
		if (strcmp(place, p->homes.dir[i]) == 0)
			return;
	for (int i = 0; i < p->shown->n; i++)
		if (strcmp(place, p->shown->path[i]) == 0)
			return;
	if (p->shown->n < SANDBOX_PATHS - 1)
		p->shown->path[p->shown->n++] = arena_text(p->arena, place);
}

static void show_beside(struct programs *p, const char *dir, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) <
	    sizeof path)
		show_place(p, path);
}

/* Programs in PREFIX/bin may need PREFIX/lib; PREFIX/shims of pyenv, asdf and
 * similar tools start programs elsewhere in PREFIX. */
static void show_dir(struct programs *p, const char *dir)
{
	char prefix[PATH_MAX], *last;

	show_place(p, dir);
	snprintf(prefix, sizeof prefix, "%s", dir);
	last = strrchr(prefix, '/');
	if (!last || last == prefix)
		return;
	*last++ = '\0';
	if (strcmp(last, "shims") == 0)
		show_place(p, prefix);
	if (strcmp(last, "bin") != 0)
		return;
	show_beside(p, prefix, "lib");
	show_beside(p, prefix, "lib64");
	show_beside(p, prefix, "pyvenv.cfg");
}

/* A package of node may need all of node_modules. */
static void show_program(struct programs *p, const char *path)
{
	char real[PATH_MAX], *modules;

	show_place(p, path);
	if (!written_resolve(&p->request->written, path, real) ||
	    !homes_contain(&p->homes, real))
		return;
	show_place(p, real);
	modules = strstr(real, MODULES);
	if (modules) {
		modules[strlen(MODULES) - 1] = '\0';
		show_place(p, real);
	} else {
		show_dir(p, dirname(real));
	}
}

/* Each directory, and the program if it exists. */
static void show_path(struct programs *p, const char *list, const char *name)
{
	char dir[PATH_MAX], file[PATH_MAX];

	while (*list) {
		size_t n = strcspn(list, ":");

		snprintf(dir, sizeof dir, "%.*s", (int)n, list);
		if (dir[0] == '/')
			show_dir(p, dir);
		if (name && dir[0] == '/' &&
		    (size_t)snprintf(file, sizeof file, "%s/%s", dir, name) <
			    sizeof file &&
		    access(file, X_OK) == 0)
			show_program(p, file);
		list += n + (list[n] == ':');
	}
}

static void show_words(struct programs *p, const cJSON *command)
{
	const cJSON *word;

	cJSON_ArrayForEach(word, command)
	{
		const char *text = cJSON_GetStringValue(word);

		if (!text || text[0] != '/')
			continue;
		if (word == command->child)
			show_program(p, text);
		else
			show_place(p, text);
	}
}

void programs_show(struct sandbox_paths *shown,
		   const struct programs_request *request, struct arena *a)
{
	struct programs p = {.shown = shown, .request = request, .arena = a};
	const char *text = request->config ? request->config : "{}";
	struct err ignored; /* the driver reads it again, and reports the
			     * error */
	cJSON *v = json_parse_object("config", text, strlen(text), &ignored);
	const cJSON *command = cJSON_GetObjectItemCaseSensitive(v, "command");
	const char *first = cJSON_GetStringValue(
		cJSON_GetArrayItem(command, 0));
	const char *path = json_text(cJSON_GetObjectItemCaseSensitive(v, "env"),
				     "PATH", getenv("PATH"));

	homes_list(&p.homes, getenv("HOME"));
	show_path(&p, path ? path : "",
		  first && !strchr(first, '/') ? first : NULL);
	show_words(&p, command);
	cJSON_Delete(v);
}
