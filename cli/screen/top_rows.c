#include "cli/screen/top_rows.h"

#include "cli/output.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define QUEUED 1000
#define GAP    2

const char *const top_heads[TOP_COLUMNS] = {
	[TOP_ID] = "ID",       [TOP_AGENT] = "AGENT",   [TOP_STATE] = "STATE",
	[TOP_AGE] = "CREATED", [TOP_EVENTS] = "EVENTS", [TOP_MEMORY] = "MEMORY",
	[TOP_PHASE] = "PHASE", [TOP_NAME] = "NAME",
};

static void set_cell(struct top_row *r, enum top_column c, const char *text)
{
	text_fit(r->cell[c], TOP_CELL, text ? text : "-");
	text_clean(r->cell[c]);
}

static void fill_row(struct top_row *r, const struct ps_row *from)
{
	struct output_state state = output_state(from->state);
	char text[TOP_CELL], age[OUTPUT_AGE];

	memset(r, 0, sizeof *r);
	text_printf(r->id, sizeof r->id, "%s", from->id);
	text_printf(text, sizeof text, "%.*s", OUTPUT_ID_SHOWN,
		    strlen(from->id) > 4 ? from->id + 4 : from->id);
	set_cell(r, TOP_ID, text);
	set_cell(r, TOP_AGENT, from->agent);
	text_printf(text, sizeof text, "%s %s", state.glyph, from->state);
	set_cell(r, TOP_STATE, text);
	set_cell(r, TOP_AGE,
		 from->created_at == OPT_NONE
			 ? NULL
			 : output_age(from->created_at, clock_now(), age));
	text_printf(text, sizeof text, "%" PRId64, from->events);
	set_cell(r, TOP_EVENTS, text);
	set_cell(r, TOP_MEMORY, from->memory);
	set_cell(r, TOP_PHASE, from->phase);
	set_cell(r, TOP_NAME, from->name);
	r->number[TOP_AGE] = from->created_at;
	r->number[TOP_EVENTS] = from->events;
	r->number[TOP_MEMORY] = from->rss_bytes == OPT_NONE ? 0
							    : from->rss_bytes;
}

static bool matches(const struct top_rows *t, const struct top_row *r)
{
	if (!t->filter[0])
		return true;
	for (int c = 0; c < TOP_COLUMNS; c++)
		if (strcasestr(r->cell[c], t->filter))
			return true;
	return false;
}

static void take_row(void *arg, struct ps_row *from)
{
	struct top_rows *t = arg;

	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 64;
		t->row = realloc(t->row, (size_t)t->cap * sizeof *t->row);
		if (!t->row)
			abort();
	}
	fill_row(&t->row[t->n], from);
	t->n += matches(t, &t->row[t->n]);
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	const struct top_rows *t = arg;
	bool number = t->sort == TOP_AGE || t->sort == TOP_EVENTS ||
		      t->sort == TOP_MEMORY;
	int order = number ? (x->number[t->sort] > y->number[t->sort]) -
				     (x->number[t->sort] < y->number[t->sort])
			   : strcmp(x->cell[t->sort], y->cell[t->sort]);

	if (order == 0)
		return strcmp(x->id, y->id);
	return t->descending ? -order : order;
}

int top_rows_read(struct top_rows *t, struct cli *cli, struct err *e)
{
	struct ps_filter all = {.queued = QUEUED};

	t->n = 0;
	if (ps_active(cli, &all, take_row, t, e))
		return -1;
	qsort_r(t->row, (size_t)t->n, sizeof *t->row, compare_rows, t);
	return 0;
}

void top_rows_fini(struct top_rows *t)
{
	free(t->row);
}

void top_widths(const struct top_rows *t, int columns, int width[TOP_COLUMNS])
{
	int left = columns;

	for (int c = 0; c < TOP_COLUMNS; c++) {
		width[c] = (int)strlen(top_heads[c]) + 1; /* sort mark */
		for (int i = 0; i < t->n; i++) {
			const char *cell = t->row[i].cell[c];
			int w = output_columns(cell, strlen(cell));

			width[c] = w > width[c] ? w : width[c];
		}
		width[c] = width[c] < left ? width[c] : left;
		if (width[c] < 3) /* no room */
			width[c] = 0;
		left -= width[c] ? width[c] + GAP : left;
		left = left > 0 ? left : 0;
	}
}
