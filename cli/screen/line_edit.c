#include "cli/screen/line_edit.h"

#include "lib/base/text.h"

#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define KEPT_LINES 1000

static struct {
	EditLine *edit;
	History *history;
	const char *prompt;
	char path[4096]; /* of the history, "" if it cannot be kept */
} editor;

static volatile sig_atomic_t interrupted;

static char *prompt_text(EditLine *e)
{
	static char text[256];

	(void)e;
	text_printf(text, sizeof text, "%s", editor.prompt);
	return text;
}

static void note_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void open_history(struct cli *cli)
{
	struct home_path path = home_join(&cli->home, HOME_STATE,
					  "chat_history");
	HistEvent ev;

	editor.history = history_init();
	if (!editor.history)
		return;
	text_printf(editor.path, sizeof editor.path, "%s", path.text);
	history(editor.history, &ev, H_SETSIZE, KEPT_LINES);
	history(editor.history, &ev, H_SETUNIQUE, 1);
	history(editor.history, &ev, H_LOAD, editor.path);
	el_set(editor.edit, EL_HIST, history, editor.history);
}

static bool open_editor(struct cli *cli)
{
	if (editor.edit)
		return true;
	editor.edit = el_init("skep", stdin, stdout, stderr);
	if (!editor.edit)
		return false;
	el_set(editor.edit, EL_PROMPT, prompt_text);
	el_set(editor.edit, EL_EDITOR, "emacs");
	el_set(editor.edit, EL_SIGNAL, 0);
	open_history(cli);
	return true;
}

static void keep_line(const char *line)
{
	HistEvent ev;
	mode_t old;

	if (!editor.history || !editor.path[0])
		return;
	history(editor.history, &ev, H_ENTER, line);
	old = umask(077); /* lines may be private */
	history(editor.history, &ev, H_SAVE, editor.path);
	umask(old);
}

long line_edit_read(struct cli *cli, const char *prompt, struct buf *line)
{
	struct sigaction sa = {.sa_handler = note_interrupt}, old;
	const char *text;
	int n = 0;

	if (!open_editor(cli))
		return -1;
	editor.prompt = prompt;
	interrupted = 0;
	sigaction(SIGINT, &sa, &old); /* without SA_RESTART: ends the read */
	text = el_gets(editor.edit, &n);
	sigaction(SIGINT, &old, NULL);
	if (interrupted) {
		el_reset(editor.edit);
		fputc('\n', stdout);
		return -2;
	}
	if (!text || n <= 0)
		return -1;
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	buf_clear(line);
	buf_add(line, text, (size_t)n);
	if (n > 0)
		keep_line(line->p);
	return n;
}

void line_edit_end(void)
{
	if (editor.history)
		history_end(editor.history);
	if (editor.edit)
		el_end(editor.edit);
}
