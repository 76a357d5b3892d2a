/*
 * Every text that users read is also in tests/golden, so that a change of
 * wording is visible in review: the help of all commands, and the tables of
 * errors, reasons, settings, findings and routes. tools/golden updates the
 * files.
 */
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Without the options of all commands, which help_skep lists. */
static void write_command(FILE *to, const struct command *c)
{
	char *text = NULL, *end;
	size_t n = 0;
	FILE *all = open_memstream(&text, &n);

	assert_non_null(all);
	help_command(all, c);
	assert_int_equal(fclose(all), 0);
	end = strstr(text, "\nglobal options:");
	assert_non_null(end);
	fwrite(text, 1, (size_t)(end - text), to);
	free(text);
}

static void write_help(FILE *to)
{
	help_skep(to);
	for (int i = 0; nouns[i].name; i++) {
		fprintf(to, "\n==== skep %s --help\n", nouns[i].name);
		help_noun(to, nouns[i].name);
	}
	for (int i = 0; commands[i]; i++) {
		fprintf(to, "\n==== skep %s --help\n", commands[i]->name);
		write_command(to, commands[i]);
	}
}

static void write_errors(FILE *to)
{
	fputs("==== errors: name, HTTP status, exit status, retry\n", to);
	for (int c = 0; c < ERR_COUNT; c++)
		fprintf(to, "%s %d %d %s: %s\n", err_name((enum err_code)c),
			err_http_status((enum err_code)c),
			err_exit_status((enum err_code)c),
			err_is_retryable((enum err_code)c) ? "yes" : "no",
			err_description((enum err_code)c));
}

static void write_reasons(FILE *to)
{
	fputs("\n==== reasons of transitions\n", to);
#define RUN_REASON(code, text)         fprintf(to, "%s: %s\n", #code, text);
#define REASON(code, out, again, text) fprintf(to, "%s: %s\n", #code, text);
#include "ipc/end_reason.def"
#include "schema/control/run_reason.def"
#undef REASON
#undef RUN_REASON
}

static void write_settings(FILE *to)
{
	fputs("\n==== settings of skep.json\n", to);
#define CONFIG(section, key, kind, def, min, max, values, help) \
	fprintf(to, "%s.%s: %s\n", #section, #key, help);
#include "schema/config.def"
#undef CONFIG
}

static void write_findings(FILE *to)
{
	fputs("\n==== findings of skep doctor\n", to);
#define FINDING(name, severity, fix, why, how) \
	fprintf(to, "%s: %s\n    %s\n", #name, why, how);
#include "ops/doctor/doctor.def"
#undef FINDING
}

static void write_routes(FILE *to)
{
	fputs("\n==== routes\n", to);
#define ROUTE(name, method, path, scope, takes, gives, of, summary) \
	fprintf(to, "%s %s: %s\n", #method, path, summary);
#include "supervisor/api/routes.def"
}

static void write_texts(FILE *to)
{
	write_errors(to);
	write_reasons(to);
	write_settings(to);
	write_findings(to);
	write_routes(to);
}

static void update(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "we");

	if (!f)
		fail_msg("cannot write %s", path);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* The first line that differs. */
static void compare(const char *name, const char *path, const char *text)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int number = 1;

	if (!f)
		fail_msg("%s is missing; run tools/golden", path);
	for (; (n = getline(&line, &cap, f)) >= 0; number++) {
		if (strncmp(line, text, (size_t)n) != 0)
			break;
		text += n;
	}
	if (n >= 0 || *text)
		fail_msg("tests/golden/%s, line %d:\n  file: %s  skep: %.*s\n"
			 "If the new text is right, run tools/golden",
			 name, number, n >= 0 ? line : "(ends)\n",
			 (int)strcspn(text, "\n"), text);
	free(line);
	fclose(f);
}

static void check(const char *name, void (*write)(FILE *))
{
	char path[4096], *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	write(to);
	assert_int_equal(fclose(to), 0);
	snprintf(path, sizeof path, "%s/%s", GOLDEN, name);
	if (getenv("SKEP_GOLDEN_UPDATE"))
		update(path, text, n);
	else
		compare(name, path, text);
	free(text);
}

static void the_help_is_the_reviewed_one(void **state)
{
	(void)state;
	check("help.txt", write_help);
}

static void the_texts_of_tables_are_the_reviewed_ones(void **state)
{
	(void)state;
	check("texts.txt", write_texts);
}

/* Lines of the help fit a terminal of 80 columns, except for options with long values. */
static void help_fits_a_terminal(void **state)
{
	char *text = NULL, *line, *rest = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	(void)state;
	write_help(to);
	assert_int_equal(fclose(to), 0);
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (output_columns(line, strlen(line)) > 80 &&
		    !strstr(line, "--"))
			fail_msg("over 80 columns: %s", line);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_help_is_the_reviewed_one),
		cmocka_unit_test(the_texts_of_tables_are_the_reviewed_ones),
		cmocka_unit_test(help_fits_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
