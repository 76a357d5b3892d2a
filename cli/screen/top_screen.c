#include "cli/screen/top_screen.h"

#include "cli/output.h"
#include "cli/remote.h"
#include "cli/screen/top_rows.h"
#include "lib/base/text.h"
#include "lib/os/program_path.h"

#include <ctype.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAST_MS  100
#define TOP_LINES 2 /* the summary and the heading */
#define GAP       2
#define ESCAPE    27

struct top {
	struct cli *cli;
	struct top_rows rows;
	char selected[ID_SIZE];
	int first; /* row at the top of the window */
	char note[512];
	bool help, quit;
};

static const char help_text[] =
	"up down  select    enter  log       i  details    c  cancel\n"
	"p  pause           u  resume        t  retry      q  quit\n"
	"< >  sort by       r  reverse       /  filter     h  this help";

/* --- drawing ------------------------------------------------------------ */

static void draw_cells(const struct top *t, int y, const char *const cells[],
		       const int width[TOP_COLUMNS])
{
	struct buf line = BUF_MAX(64u << 10);

	for (int c = 0; c < TOP_COLUMNS; c++) {
		size_t from = line.n;
		int pad;

		if (!width[c])
			continue;
		output_cut(&line, cells[c], width[c]);
		pad = width[c] - output_columns(line.p + from, line.n - from);
		buf_addf(&line, "%*s", pad + GAP, "");
	}
	(void)t;
	mvaddnstr(y, 0, line.p, (int)line.n);
	clrtoeol();
	buf_fini(&line);
}

static void draw_heading(const struct top *t, const int width[TOP_COLUMNS])
{
	char heads[TOP_COLUMNS][TOP_CELL];
	const char *cells[TOP_COLUMNS];

	for (int c = 0; c < TOP_COLUMNS; c++) {
		text_printf(heads[c], TOP_CELL, "%s%s", top_heads[c],
			    c != (int)t->rows.sort ? ""
			    : t->rows.descending   ? "▾"
						   : "▴");
		cells[c] = heads[c];
	}
	attron(A_BOLD);
	draw_cells(t, 1, cells, width);
	attroff(A_BOLD);
}

static int selected_index(const struct top *t)
{
	for (int i = 0; i < t->rows.n; i++)
		if (!strcmp(t->rows.row[i].id, t->selected))
			return i;
	return 0;
}

static void draw_rows(struct top *t, const int width[TOP_COLUMNS])
{
	int chosen = selected_index(t), lines = LINES - TOP_LINES - 1;

	if (lines < 1)
		return;
	if (chosen < t->first)
		t->first = chosen;
	if (chosen >= t->first + lines)
		t->first = chosen - lines + 1;
	for (int y = 0; y < lines; y++) {
		int i = t->first + y;
		const char *cells[TOP_COLUMNS];

		move(TOP_LINES + y, 0);
		clrtoeol();
		if (i >= t->rows.n)
			continue;
		for (int c = 0; c < TOP_COLUMNS; c++)
			cells[c] = t->rows.row[i].cell[c];
		if (i == chosen)
			attron(A_REVERSE);
		draw_cells(t, TOP_LINES + y, cells, width);
		attroff(A_REVERSE);
	}
}

static void draw_line(int y, const char *text)
{
	struct buf b = BUF_MAX(4096);

	output_cut(&b, text, COLS > 1 ? COLS - 1 : 1);
	mvaddnstr(y, 0, b.p, (int)b.n);
	clrtoeol();
	buf_fini(&b);
}

static void draw_help(void)
{
	char text[sizeof help_text], *rest = NULL;
	int y = TOP_LINES;

	memcpy(text, help_text, sizeof text);
	for (char *line = strtok_r(text, "\n", &rest); line && y < LINES - 1;
	     line = strtok_r(NULL, "\n", &rest))
		draw_line(y++, line);
}

static void draw(struct top *t)
{
	int width[TOP_COLUMNS];
	char line[200];

	erase();
	text_printf(line, sizeof line, "%d %s  %s%s", t->rows.n,
		    text_plural(t->rows.n, "run", "runs"),
		    t->rows.filter[0] ? "filter: " : "", t->rows.filter);
	draw_line(0, line);
	top_widths(&t->rows, COLS, width);
	draw_heading(t, width);
	if (t->help)
		draw_help();
	else
		draw_rows(t, width);
	draw_line(LINES - 1, t->note[0] ? t->note : "h help   q quit");
	refresh();
}

/* --- keys ---------------------------------------------------------------- */

static void ask_line(const char *question, char *out, int size)
{
	timeout(-1);
	echo();
	curs_set(1);
	draw_line(LINES - 1, question);
	move(LINES - 1, (int)strlen(question));
	if (getnstr(out, size - 1) == ERR)
		out[0] = '\0';
	noecho();
	curs_set(0);
}

static void post_verb(struct top *t, const char *verb)
{
	const char *path = arena_printf(&t->cli->arena, "/v1/runs/%s/%s",
					t->selected, verb);
	struct err e;

	if (cli_call(t->cli, "POST", path, "{}", NULL, &e) < 0)
		text_printf(t->note, sizeof t->note, "%s", e.text);
	else
		text_printf(t->note, sizeof t->note, "%s: %s requested",
			    t->selected, verb);
}

static void cancel_selected(struct top *t)
{
	char answer[8], question[80];

	text_printf(question, sizeof question, "cancel run %s? [y/N] ",
		    t->selected);
	ask_line(question, answer, sizeof answer);
	if (answer[0] == 'y' || answer[0] == 'Y')
		post_verb(t, "cancel");
}

/* In the child: its output goes to the pager. */
static void become_skep(const struct top *t, const char *verb, int to)
	__attribute__((noreturn));

static void become_skep(const struct top *t, const char *verb, int to)
{
	struct program_path skep = program_path("skep");

	dup2(to, STDOUT_FILENO);
	dup2(to, STDERR_FILENO);
	execl(skep.text, skep.text, "--home", t->cli->home.root, verb,
	      t->selected, (char *)NULL);
	_exit(127);
}

/* Shows the output of another command, then returns to the table. */
static void show_output(struct top *t, const char *verb)
{
	const char *own = getenv("PAGER");
	FILE *pager;
	pid_t pid;

	endwin();
	pager = popen(own && *own ? own : "less", "we"); // NOLINT(cert-env33-c)
	pid = pager ? fork() : -1;
	if (pid == 0)
		become_skep(t, verb, fileno(pager));
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	if (pager)
		(void)pclose(pager);
	refresh();
}

static void move_selection(struct top *t, int by)
{
	int i = selected_index(t) + by;

	i = i < 0 ? 0 : i >= t->rows.n ? t->rows.n - 1 : i;
	if (i >= 0)
		text_printf(t->selected, sizeof t->selected, "%s",
			    t->rows.row[i].id);
}

static void change_sort(struct top *t, int by)
{
	t->rows.sort = (enum top_column)(
		((int)t->rows.sort + by + TOP_COLUMNS) % TOP_COLUMNS);
}

static void act_on_run(struct top *t, int key)
{
	if (!t->selected[0])
		return;
	if (key == 'c')
		cancel_selected(t);
	else if (key == 'p' || key == 'u' || key == 't')
		post_verb(t, key == 'p'   ? "pause"
			     : key == 'u' ? "resume"
					  : "retry");
	else if (key == '\n' || key == KEY_ENTER || key == 'l')
		show_output(t, "logs");
	else if (key == 'i')
		show_output(t, "show");
}

static void take_key(struct top *t, int key)
{
	if (key != ERR)
		t->note[0] = '\0';
	switch (key) {
	case 'q':
		t->quit = true;
		break;
	case KEY_UP:
	case 'k':
		move_selection(t, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_selection(t, 1);
		break;
	case KEY_NPAGE:
	case KEY_PPAGE:
		move_selection(t, (key == KEY_NPAGE ? 1 : -1) * (LINES / 2));
		break;
	case '<':
	case '>':
		change_sort(t, key == '<' ? -1 : 1);
		break;
	case 'r':
		t->rows.descending = !t->rows.descending;
		break;
	case '/':
		ask_line("filter: ", t->rows.filter, sizeof t->rows.filter);
		break;
	case 'h':
	case '?':
		t->help = !t->help;
		break;
	case ESCAPE:
		t->help = false;
		t->rows.filter[0] = '\0';
		break;
	default:
		act_on_run(t, key);
	}
}

/* A supervisor that restarts is waited for. */
static void refresh_rows(struct top *t)
{
	struct err e;

	if (top_rows_read(&t->rows, t->cli, &e))
		text_printf(t->note, sizeof t->note, "%s", e.text);
	if (t->rows.n > 0)
		text_printf(t->selected, sizeof t->selected, "%s",
			    t->rows.row[selected_index(t)].id);
	else
		t->selected[0] = '\0';
}

int top_screen(struct cli *cli, struct err *e)
{
	int64_t every = cli_number(cli, "interval", 1000);
	struct top t = {.cli = cli,
			.rows = {.sort = TOP_AGE, .descending = true}};
	SCREEN *screen = newterm(NULL, stdout, stdin);

	if (!screen)
		return err_set(e, ERR_UNSUPPORTED,
			       "skep top cannot use the terminal type '%s'",
			       quoted(getenv("TERM")).text);
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, true);
	set_escdelay(25);
	while (!t.quit) {
		refresh_rows(&t);
		draw(&t);
		timeout((int)(every < LEAST_MS ? LEAST_MS : every));
		take_key(&t, getch());
	}
	endwin();
	delscreen(screen);
	top_rows_fini(&t.rows);
	return 0;
}
