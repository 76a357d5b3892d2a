#include "tests/support/vfs_model.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void step_fill(const struct step *s, char *data)
{
	for (size_t i = 0; i < s->n; i++)
		data[i] = (char)((s->arg + i / (1 + s->arg % 7)) & 0x7f);
}

const char *step_target(const struct step *s)
{
	static const char *const targets[] = {"a", "b/c", "a/../b", "c"};

	return targets[s->arg % 4];
}

const char *step_attribute(const struct step *s)
{
	return s->arg % 2 ? "user.one" : "user.two";
}

/* Only root can give things away. */
unsigned step_owner(const struct step *s)
{
	return geteuid() ? geteuid() : s->arg % 3;
}

long step_sum(const char *data, long n)
{
	unsigned long sum = 0;

	for (long i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)data[i];
	return (long)(sum & 0xffffffff) + n;
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

static bool same_tree(struct model *a, char *(*see)(struct model *),
		      struct model *b, char *text, size_t room)
{
	char *pa = see(a), *pb = b->picture(b);
	bool same = strcmp(pa, pb) == 0;

	if (!same)
		snprintf(text, room, "%s:\n%.300s\ninstead of\n%.300s", a->name,
			 pa, pb);
	free(pa);
	free(pb);
	return same;
}

static bool same_trees(struct model *models[], int count, bool truth,
		       char *text, size_t room)
{
	for (int k = 0; k < count - 1; k++) {
		struct model *m = models[k];

		if ((!truth || m->truth) &&
		    !same_tree(m, truth ? m->truth : m->picture,
			       models[count - 1], text, room))
			return false;
	}
	return true;
}

int model_compare(struct model *models[], int count, const struct step *steps,
		  int n, char *why)
{
	struct model *last = models[count - 1];
	char text[800];

	for (int k = 0; k < count; k++)
		models[k]->clear(models[k]);
	for (int i = 0; i < n; i++) {
		long want = last->run(last, &steps[i]);

		for (int k = 0; k < count - 1; k++) {
			long got = models[k]->run(models[k], &steps[i]);

			snprintf(text, sizeof text, "%s: %ld instead of %ld",
				 models[k]->name, got, want);
			if (got != want)
				return differ(i, &steps[i], why, text);
		}
		if (!same_trees(models, count, false, text, sizeof text))
			return differ(i, &steps[i], why, text);
	}
	if (n > 0 && !same_trees(models, count, true, text, sizeof text))
		return differ(n - 1, &steps[n - 1], why, text);
	return -1;
}
