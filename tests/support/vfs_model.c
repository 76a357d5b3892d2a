#include "tests/support/vfs_model.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
#define STEP(name) #name,
#include "tests/support/vfs_model.def"
#undef STEP
};

/* Numbers below 3 are names in the root, and so on, three names to a level. */
void step_path(unsigned number, char *out, size_t room)
{
	static const char *const names[] = {"a", "b", "c"};
	int depth = number < 3 ? 1 : number < 12 ? 2 : 3;
	size_t n = 0;

	for (int i = 0; i < depth; i++) {
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? "/" : "",
				      names[number % 3]);
		number /= 3;
	}
}

void steps_make(struct step *steps, int n, unsigned seed)
{
	for (int i = 0; i < n; i++) {
		struct step *s = &steps[i];

		s->kind = (unsigned)rand_r(&seed) % STEP_KINDS;
		s->a = (unsigned)rand_r(&seed) % 39;
		s->b = (unsigned)rand_r(&seed) % 39;
		if (rand_r(&seed) % 2) /* meet more often */
			s->a %= 12;
		s->arg = (unsigned)rand_r(&seed);
		s->off = rand_r(&seed) % 3 ? rand_r(&seed) % 5000
					   : rand_r(&seed) % 200000;
		s->n = (size_t)(rand_r(&seed) % 3 ? rand_r(&seed) % 3000
						  : rand_r(&seed) % 150000);
	}
}

void step_text(const struct step *s, char *out, size_t room)
{
	char a[32], b[32];

	step_path(s->a, a, sizeof a);
	step_path(s->b, b, sizeof b);
	snprintf(out, room, "%s %s %s off=%lld n=%zu arg=%u",
		 kind_names[s->kind], a, b, (long long)s->off, s->n, s->arg);
}

static int differ(int i, const struct step *s, char *why, const char *text)
{
	char what[256];

	step_text(s, what, sizeof what);
	if (why)
		snprintf(why, 1024, "step %d (%s): %.700s", i + 1, what, text);
	return i;
}

static int same_tree(struct model *a, struct model *b, char *text, size_t room)
{
	char *pa = a->picture(a), *pb = b->picture(b);
	bool same = strcmp(pa, pb) == 0;

	if (!same)
		snprintf(text, room, "trees differ:\n%.300s\n---\n%.300s", pa,
			 pb);
	free(pa);
	free(pb);
	return same;
}

int model_compare(struct model *a, struct model *b, const struct step *steps,
		  int n, char *why)
{
	char text[800];

	a->clear(a);
	b->clear(b);
	for (int i = 0; i < n; i++) {
		long ra = a->run(a, &steps[i]), rb = b->run(b, &steps[i]);

		if (ra != rb) {
			snprintf(text, sizeof text, "%ld and %ld", ra, rb);
			return differ(i, &steps[i], why, text);
		}
		if ((i % 10 == 9 || i == n - 1) &&
		    !same_tree(a, b, text, sizeof text))
			return differ(i, &steps[i], why, text);
	}
	return -1;
}
