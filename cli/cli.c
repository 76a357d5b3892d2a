#include "cli/cli.h"

#include "cli/help/complete.h"
#include "cli/migration_view.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/agent/transcript/session.h"

#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const char *cli_words(struct cli *cli, int i)
{
	const char *words = cli_arg(cli, i);

	while (cli_arg(cli, ++i))
		words = arena_printf(&cli->arena, "%s %s", words,
				     cli_arg(cli, i));
	return words;
}

const char *cli_trimmed(struct cli *cli, const char *text)
{
	static const char blanks[] = " \t\r\n";
	char *out = arena_text(&cli->arena, text);
	size_t n = 0;

	for (const char *p = text; *p; p++) {
		bool blank = strchr(blanks, *p) != NULL;

		if (!cli->out.json && blank && n > 0 && out[n - 1] == ' ')
			continue;
		out[n++] = blank && !cli->out.json ? ' ' : *p;
	}
	while (n > 0 && strchr(blanks, out[n - 1]))
		n--;
	out[n] = '\0';
	return out;
}

const char *cli_arg(const struct cli *cli, int i)
{
	return i < cli->args.nwords ? cli->args.words[i] : NULL;
}

const char *cli_option(const struct cli *cli, const char *name)
{
	return args_option(&cli->args, name);
}

bool cli_flag(const struct cli *cli, const char *name)
{
	return args_option(&cli->args, name) != NULL;
}

int64_t cli_number(const struct cli *cli, const char *name, int64_t other)
{
	struct err never;
	int64_t n = other;

	for (int i = cli->args.noptions - 1; i >= 0; i--) {
		const struct args_option *o = &cli->args.options[i];

		if (strcmp(o->spec->name, name) != 0)
			continue;
		if (o->spec->kind == OPTION_BYTES)
			text_bytes(name, o->value, &n, &never);
		else if (o->spec->kind == OPTION_MILLIS)
			text_millis(name, o->value, &n, &never);
		else
			text_i64(name, o->value, INT64_MIN, INT64_MAX, &n,
				 &never);
		break;
	}
	return n;
}

int cli_count(const struct cli *cli, const char *name, int other)
{
	int64_t n = cli_number(cli, name, other);

	return n > INT_MAX ? INT_MAX : (int)n;
}

const char *cli_many(const struct cli *cli, const char *name, int i)
{
	for (int at = 0; at < cli->args.noptions; at++)
		if (!strcmp(cli->args.options[at].spec->name, name) && i-- == 0)
			return cli->args.options[at].value;
	return NULL;
}

int cli_read(const char *path, struct buf *b, struct err *e)
{
	if (!strcmp(path, "-")) {
		if (isatty(STDIN_FILENO))
			fprintf(stderr, "skep: reading from standard input; "
					"Ctrl-D ends the input\n");
		return file_read_fd(STDIN_FILENO, "standard input", b, e);
	}
	return file_read_waiting(path, b, e);
}

/* The offset of the first byte that is not valid text; n if there is none. */
static size_t text_until(const char *p, size_t n)
{
	size_t at = 0;

	while (at < n) {
		size_t step = p[at] ? text_utf8_char(p + at, n - at) : 0;

		if (step == 0)
			break;
		at += step;
	}
	return at;
}

int cli_read_text(const char *path, const char *what, struct buf *b,
		  struct err *e)
{
	size_t at;

	if (cli_read(path, b, e))
		return e->code == ERR_TOOBIG ? err_wrap(e, "%s", what) : -1;
	at = text_until(b->p, b->n);
	if (at == b->n)
		return 0;
	return err_set(e, ERR_INVALID,
		       "%s is not text: %s at byte %zu; use --attach for "
		       "binary data",
		       what, b->p[at] ? "invalid UTF-8" : "a NUL", at + 1);
}

int cli_print_session(struct cli *cli, const char *key, const char *done,
		      struct err *e)
{
	struct session_row row;

	if (session_need(&cli->agent, key, &row, &cli->arena, e))
		return -1;
	output_result(&cli->out, &session_row_shape, &row, "%s", done);
	return 0;
}

static void problem(const struct err *e)
{
	struct buf b = BUF_MAX(8192);
	struct output o;

	output_init(&o, stderr, true, true);
	json_begin_object(&b);
	json_put_text(&b, "title", err_description(e->code));
	json_put_int(&b, "status", err_http_status(e->code));
	json_put_text(&b, "code", err_name(e->code));
	json_put_int(&b, "exit", err_exit_status(e->code));
	json_put_bool(&b, "retry", err_is_retryable(e->code));
	json_put_text(&b, "detail", e->text);
	json_end_object(&b);
	fprintf(o.to, "%s\n", b.p);
	(void)fflush(o.to);
	buf_fini(&b);
}

void cli_report(const struct cli *cli, const struct err *e)
{
	struct buf b = BUF_MAX(8192);
	struct output o;

	if (cli->out.json) {
		problem(e);
		return;
	}
	output_init(&o, stderr, false, !cli->out.colour && cli->out.width);
	output_safe(&b, e->text, strlen(e->text), true);
	fprintf(stderr, "%sskep:%s %s\n", output_style(&o, STYLE_BAD),
		output_style(&o, STYLE_PLAIN), b.p);
	buf_fini(&b);
}

void cli_fail_later(struct cli *cli, const struct err *e)
{
	if (cli->fails_later)
		return;
	cli->later = *e;
	cli->fails_later = true;
}

/* Handles --help and --version before anything is opened. */
static bool is_answered(const struct cli *cli)
{
	const struct args *a = &cli->args;

	if (a->version)
		printf("skep %s\n", SKEP_VERSION);
	else if (a->help && a->command)
		help_command(stdout, a->command);
	else if (a->help && a->noun)
		help_noun(stdout, a->noun);
	else if (a->help)
		help_skep(stdout);
	return a->version || a->help;
}

/* All words are tried; the first error is the result, the others are printed. */
static int run_for_each(struct cli *cli, struct err *e)
{
	struct args *a = &cli->args;
	char **words = a->words;
	int n = a->nwords, rc = 0;
	struct err later;

	a->nwords = n > 0;
	for (int i = 0; i < (n ? n : 1); i++) {
		struct err *to = rc ? &later : e;

		a->words = words + i;
		if ((i == 0 || cli_open_next(cli, to) == 0) &&
		    a->command->run(cli, to) == 0)
			continue;
		if (rc)
			cli_report(cli, &later);
		rc = -1;
	}
	return rc;
}

static int run_command(struct cli *cli, struct err *e)
{
	const struct args *a = &cli->args;
	int rc;

	if (is_answered(cli))
		return output_end(&cli->out, e);
	if (!a->command)
		return missing_command(a->noun, e);
	rc = cli_open(cli, e);
	if (!rc)
		rc = a->command->each ? run_for_each(cli, e)
				      : a->command->run(cli, e);
	if (!rc && cli->fails_later) {
		*e = cli->later;
		rc = -1;
	}
	if (!rc)
		rc = output_end(&cli->out, e);
	else
		(void)fflush(cli->out.to); /* before the error */
	output_page_end(&cli->out);
	cli_close(cli, rc == 0);
	return rc;
}

int cli_main(int argc, char **argv)
{
	static struct cli cli;
	struct err e = {0};
	int rc;

	setlocale(LC_CTYPE, "C.UTF-8");
	if (argc > 1 && !strcmp(argv[1], "__complete"))
		return complete_line(argc - 2, argv + 2);
	signal(SIGPIPE, SIG_IGN);
	migration_view_begin();
	cli.argv = arena_alloc(&cli.arena,
			       (size_t)(argc + 1) * sizeof *cli.argv);
	memcpy(cli.argv, argv, (size_t)(argc + 1) * sizeof *cli.argv);
	rc = args_parse(&cli.args, argc, argv, &e);
	output_init(&cli.out, stdout, args_option(&cli.args, "json") != NULL,
		    args_option(&cli.args, "no-color") != NULL);
	if (!rc)
		rc = run_command(&cli, &e);
	if (rc) {
		cli_report(&cli, &e);
		rc = err_exit_status(e.code);
	}
	arena_fini(&cli.arena);
	return rc;
}
