/*
 * skep-docgen DIR: writes man pages, shell completions and the schema of the
 * configuration into DIR. The build runs it; it uses the same tables as the
 * programs.
 */
#include "cli/command.h"
#include "cli/help/complete.h"
#include "cli/help/man.h"
#include "schema/config.h"
#include "schema/definition.h"

#include <limits.h>
#include <stdlib.h>

static FILE *file(const char *dir, const char *name)
{
	char path[PATH_MAX];
	FILE *to;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	to = fopen(path, "we");
	if (!to) {
		perror(path);
		exit(1);
	}
	return to;
}

static void close_output(FILE *to)
{
	if (fclose(to)) {
		perror("docgen");
		exit(1);
	}
}

static void write_one(const char *dir, const char *name, void (*write)(FILE *))
{
	FILE *to = file(dir, name);

	write(to);
	close_output(to);
}

static void write_text(FILE *to, void (*write)(struct buf *))
{
	struct buf out = BUF_MAX(1u << 20);

	write(&out);
	fputs(out.p, to);
	buf_fini(&out);
}

/* The JSON schema of skep.json, for editors. */
static void write_schema(FILE *to)
{
	write_text(to, config_schema);
}

static void write_agent_schema(FILE *to)
{
	write_text(to, definition_schema);
}

static void write_agent_document(FILE *to)
{
	write_text(to, definition_document);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("use: skep-docgen DIR\n", stderr);
		return 64;
	}
	write_one(argv[1], "skep.1", man_skep);
	write_one(argv[1], "skep.json.5", man_config);
	write_one(argv[1], "skep.schema.json", write_schema);
	write_one(argv[1], "agent.schema.json", write_agent_schema);
	write_one(argv[1], "DEFINITION.md", write_agent_document);
	write_one(argv[1], "skep.bash", complete_bash);
	write_one(argv[1], "_skep", complete_zsh);
	write_one(argv[1], "skep.fish", complete_fish);
	for (int i = 0; nouns[i].name; i++) {
		char name[64];
		FILE *to;

		snprintf(name, sizeof name, "skep-%s.1", nouns[i].name);
		to = file(argv[1], name);
		man_noun(to, nouns[i].name);
		close_output(to);
	}
	return 0;
}
