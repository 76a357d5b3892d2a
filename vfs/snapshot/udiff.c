#include "vfs/snapshot/udiff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Myers' O(ND) search, lines as units, with a limit on D. */

#define CONTEXT   3
#define MAX_EDITS 2000

struct lines {
	const char **p;
	size_t *n;
	int count;
};

struct script { /* which lines are deleted and inserted */
	bool *gone, *new;
};

static struct lines split(const char *text, size_t n)
{
	struct lines l = {0};
	size_t cap = 0, at = 0;

	while (at < n) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t len = end ? (size_t)(end - text) + 1 - at : n - at;

		if ((size_t)l.count == cap) {
			cap = cap ? cap * 2 : 64;
			l.p = realloc(l.p, cap * sizeof *l.p);
			l.n = realloc(l.n, cap * sizeof *l.n);
			if (!l.p || !l.n)
				abort();
		}
		l.p[l.count] = text + at;
		l.n[l.count++] = len;
		at += len;
	}
	return l;
}

static void lines_fini(struct lines *l)
{
	free(l->p);
	free(l->n);
}

static bool same_line(const struct lines *a, int i, const struct lines *b,
		      int k)
{
	return a->n[i] == b->n[k] && !memcmp(a->p[i], b->p[k], a->n[i]);
}

/* Follows the saved rounds back from the end and marks what changed. */
static void trace_back(int **rounds, int d, int x, int y,
		       const struct script *s)
{
	for (; d > 0; d--) {
		const int *v = rounds[d - 1] + d; /* index 0 is diagonal 0 */
		int k = x - y;
		bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
		int from = down ? k + 1 : k - 1;
		int px = v[from], py = px - from;

		x = px;
		y = py;
		if (down)
			s->new[y] = true;
		else
			s->gone[x] = true;
	}
}

/* The position of diagonal k after d edits: one step from its better neighbour,
 * then along all equal lines. */
static int furthest(const struct lines *a, const struct lines *b,
		    const int *old, int d, int k)
{
	bool down = d && (k == -d || (k != d && old[k - 1] < old[k + 1]));
	int x = 0;

	if (d)
		x = down ? old[k + 1] : old[k - 1] + 1;
	while (x < a->count && x - k < b->count && x >= 0 && x - k >= 0 &&
	       same_line(a, x, b, x - k))
		x++;
	return x;
}

/* 0: found, marks are set. -1: too different. */
static int find_script(const struct lines *a, const struct lines *b,
		       const struct script *s)
{
	int **rounds = calloc(MAX_EDITS + 1, sizeof *rounds);
	int found = -1;

	if (!rounds)
		abort();
	for (int d = 0; d <= MAX_EDITS && found < 0; d++) {
		/* room for diagonals -d-1 .. d+1 */
		int *v = calloc(2 * (size_t)d + 3, sizeof *v), *at = v + d + 1;
		const int *old = d ? rounds[d - 1] + d : NULL;

		if (!v)
			abort();
		rounds[d] = v;
		for (int k = -d; k <= d && found < 0; k += 2) {
			int x = at[k] = furthest(a, b, old, d, k);

			if (x >= a->count && x - k >= b->count) {
				found = d;
				trace_back(rounds, d, x, x - k, s);
			}
		}
	}
	for (int d = 0; d <= MAX_EDITS && rounds[d]; d++)
		free(rounds[d]);
	free(rounds);
	return found < 0 ? -1 : 0;
}

static void put_line(struct buf *out, char sign, const char *p, size_t n)
{
	buf_addc(out, sign);
	buf_add(out, p, n);
	if (n == 0 || p[n - 1] != '\n')
		buf_adds(out, "\n\\ No newline at end of file\n");
}

struct hunk {
	int a, b, a_end, b_end;
};

static void put_hunk(const struct lines *a, const struct lines *b,
		     const struct script *s, struct hunk h, struct buf *out)
{
	int x = h.a, y = h.b;

	buf_addf(out, "@@ -%d,%d +%d,%d @@\n", h.a_end > h.a ? h.a + 1 : h.a,
		 h.a_end - h.a, h.b_end > h.b ? h.b + 1 : h.b, h.b_end - h.b);
	while (x < h.a_end || y < h.b_end) {
		if (x < h.a_end && s->gone[x]) {
			put_line(out, '-', a->p[x], a->n[x]);
			x++;
		} else if (y < h.b_end && s->new[y]) {
			put_line(out, '+', b->p[y], b->n[y]);
			y++;
		} else {
			put_line(out, ' ', a->p[x], a->n[x]);
			x++;
			y++;
		}
	}
}

/* From a change on: up to CONTEXT * 2 unchanged lines, or the end. */
static struct hunk next_hunk(const struct lines *a, const struct lines *b,
			     const struct script *s, int x, int y)
{
	int before = x < CONTEXT ? x : CONTEXT, quiet = 0;
	struct hunk h = {x - before, y - before, x, y};

	while ((x < a->count || y < b->count) && quiet <= 2 * CONTEXT) {
		if (x < a->count && s->gone[x]) {
			x++;
			quiet = 0;
		} else if (y < b->count && s->new[y]) {
			y++;
			quiet = 0;
		} else {
			x++;
			y++;
			quiet++;
			if (quiet > CONTEXT)
				continue;
		}
		h.a_end = x;
		h.b_end = y;
	}
	return h;
}

static void put_hunks(const struct lines *a, const struct lines *b,
		      const struct script *s, struct buf *out)
{
	int x = 0, y = 0;

	while (x < a->count || y < b->count) {
		struct hunk h;

		if (!(x < a->count && s->gone[x]) &&
		    !(y < b->count && s->new[y])) {
			x++;
			y++;
			continue;
		}
		h = next_hunk(a, b, s, x, y);
		put_hunk(a, b, s, h, out);
		x = h.a_end;
		y = h.b_end;
	}
}

static bool is_text(const char *p, size_t n)
{
	return !memchr(p, '\0', n < 8000 ? n : 8000);
}

void udiff(const struct udiff *d, struct buf *out)
{
	struct lines a, b;
	struct script s;

	if (!is_text(d->a, d->an) || !is_text(d->b, d->bn)) {
		buf_addf(out, "Binary files a/%s and b/%s differ\n", d->path,
			 d->path);
		return;
	}
	a = split(d->a, d->an);
	b = split(d->b, d->bn);
	s.gone = calloc((size_t)a.count + 1, 1);
	s.new = calloc((size_t)b.count + 1, 1);
	if (!s.gone || !s.new)
		abort();
	if (find_script(&a, &b, &s)) {
		memset(s.gone, 1, (size_t)a.count);
		memset(s.new, 1, (size_t)b.count);
	}
	buf_addf(out, "--- %s%s\n+++ %s%s\n", d->is_new ? "" : "a/",
		 d->is_new ? "/dev/null" : d->path, d->is_gone ? "" : "b/",
		 d->is_gone ? "/dev/null" : d->path);
	put_hunks(&a, &b, &s, out);
	free(s.gone);
	free(s.new);
	lines_fini(&a);
	lines_fini(&b);
}
