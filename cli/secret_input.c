#include "cli/secret_input.h"

#include "lib/base/text.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

void secret_clear(struct buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->n);
	buf_fini(b);
}

static void trim_end(struct buf *b)
{
	while (b->n && isspace((unsigned char)b->p[b->n - 1]))
		b->p[--b->n] = '\0';
}

/* A signal during the input would leave the terminal without echo, so the
 * terminal's own signals are blocked with it. */
static int read_hidden(const char *prompt, struct buf *out, struct err *e)
{
	struct termios old, quiet;
	char line[4096];
	bool hidden = tcgetattr(STDIN_FILENO, &old) == 0;

	if (hidden) {
		quiet = old;
		quiet.c_lflag &= (tcflag_t) ~(ECHO | ISIG);
		hidden = tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
	}
	fprintf(stderr, "%s (hidden): ", prompt);
	if (fgets(line, sizeof line, stdin))
		buf_adds(out, line);
	explicit_bzero(line, sizeof line);
	if (hidden)
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
	fputc('\n', stderr);
	return buf_ok(out, prompt, e);
}

static int read_from(const struct secret_source *from, struct buf *out,
		     struct err *e)
{
	const char *value;

	if (from->variable) {
		value = getenv(from->variable);
		if (!value)
			return err_set(e, ERR_NOTFOUND,
				       "the variable %s is not set",
				       quoted(from->variable).text);
		buf_adds(out, value);
		return buf_ok(out, from->prompt, e);
	}
	if (!from->file && isatty(STDIN_FILENO))
		return read_hidden(from->prompt, out, e);
	return cli_read_text(from->file ? from->file : "-", from->prompt, out,
			     e);
}

int secret_read(const struct secret_source *from, struct buf *out,
		struct err *e)
{
	if (from->file && from->variable)
		return err_set(e, ERR_USAGE,
			       "--key-file and --key-env cannot be used "
			       "together");
	if (read_from(from, out, e))
		return -1;
	trim_end(out);
	return out->n ? 0
		      : err_set(e, ERR_USAGE, "%s: the input is empty",
				from->prompt);
}

/* 1: the file has this content; 0: another one, or there is none. */
static int is_stored(const char *path, const struct buf *secret, bool *exists,
		     struct err *e)
{
	struct buf old = BUF_MAX(SECRET_MAX);
	int rc = 0;

	*exists = file_exists(path);
	if (*exists)
		rc = file_read(path, &old, e);
	trim_end(&old);
	if (!rc)
		rc = *exists && old.n == secret->n &&
		     !memcmp(old.p, secret->p, old.n);
	secret_clear(&old);
	return rc;
}

int secret_store(const struct home *home, const char *name,
		 const struct buf *secret, bool replace, struct err *e)
{
	struct home_path path = home_join(home, HOME_CREDENTIALS, name);
	struct buf text = BUF_MAX(2u * SECRET_MAX);
	bool exists;
	int rc = text_check_name("credential", name, e)
			 ? -1
			 : is_stored(path.text, secret, &exists, e);

	if (rc)
		return rc > 0 ? 0 : -1;
	if (exists && !replace)
		return err_set(e, ERR_CONFLICT,
			       "the credential %s exists with another value; "
			       "'skep credential add %s --replace' replaces it",
			       name, name);
	buf_addf(&text, "%s\n", secret->p);
	rc = home_make(home, e) || atomic_file_write(path.text, text.p, text.n,
						     0600, e)
		     ? -1
		     : 1;
	secret_clear(&text);
	return rc;
}
