/* Offsets of names in listings, with hashes so short that most are equal. */
#include "vfs/core/cookie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES 60
#define NODES 4
#define DIR   7

/* A directory in which names come and go. */
struct tree {
	char name[NAMES][16];
	bool there[NAMES];
	int listed[NAMES]; /* how often, in the listing under way */
	bool stayed[NAMES];
};

static size_t entries_of(struct tree *t, struct vfs_entry out[NAMES])
{
	size_t n = 0;

	for (int i = 0; i < NAMES; i++)
		if (t->there[i])
			out[n++] = (struct vfs_entry){.ino = 3 + i % NODES,
						      .name = t->name[i]};
	return n;
}

/* Lists up to `room` names after an offset, as a new handle would. */
static int64_t list_some(struct tree *t, struct cookie_book *b, int64_t after,
			 int room)
{
	struct vfs_entry entries[NAMES];
	size_t n = entries_of(t, entries);
	int64_t *cookies = cookies_sort(b, DIR, entries, n), last = after;

	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || cookies[i] > cookies[i - 1]);
		assert_int_equal(cookies[i] >> COOKIE_BITS, entries[i].ino);
		if (cookies[i] <= after || room-- <= 0)
			continue;
		last = cookies[i];
		t->listed[(int)strtol(entries[i].name + 1, NULL, 10)]++;
	}
	free(cookies);
	return last;
}

static void tree_init(struct tree *t, unsigned *seed)
{
	for (int i = 0; i < NAMES; i++) {
		snprintf(t->name[i], sizeof t->name[i], "n%d", i);
		t->there[i] = rand_r(seed) % 3 > 0;
	}
}

static void change_tree(struct tree *t, unsigned *seed, bool add)
{
	for (int k = 0; k < 3; k++) {
		int i = rand_r(seed) % NAMES;

		t->there[i] = add && rand_r(seed) % 2;
		t->stayed[i] = false;
	}
}

/* 0: some name that was there all the time was not listed. */
static int list_all(struct tree *t, struct cookie_book *b, unsigned *seed,
		    bool add)
{
	int64_t at = 2, next;
	int most = 0;

	memset(t->listed, 0, sizeof t->listed);
	memcpy(t->stayed, t->there, sizeof t->stayed);
	while ((next = list_some(t, b, at, 1 + rand_r(seed) % 4)) != at) {
		at = next;
		change_tree(t, seed, add);
	}
	for (int i = 0; i < NAMES; i++) {
		if (t->stayed[i] && t->listed[i] == 0)
			return 0;
		most = t->listed[i] > most ? t->listed[i] : most;
	}
	return most > 0 ? most : 1;
}

static void names_that_go_hide_no_other(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 300; round++) {
		struct cookie_book b = {.hash_bits = 1 + round % 4};
		unsigned seed = round;
		struct tree t;

		tree_init(&t, &seed);
		if (list_all(&t, &b, &seed, false) != 1)
			fail_msg("seed %u: not each name once", round);
		cookies_fini(&b);
	}
}

static void names_that_come_and_go_hide_no_other(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 300; round++) {
		struct cookie_book b = {.hash_bits = 1 + round % 4};
		unsigned seed = round;
		struct tree t;

		tree_init(&t, &seed);
		for (int i = 0; i < 3; i++)
			if (list_all(&t, &b, &seed, true) == 0)
				fail_msg("seed %u: a name is missing", round);
		cookies_fini(&b);
	}
}

static void what_is_gone_is_forgotten(void **state)
{
	struct cookie_book b = {.hash_bits = 1};
	struct tree t = {0};
	unsigned seed = 1;

	(void)state;
	tree_init(&t, &seed);
	list_some(&t, &b, 0, NAMES);
	assert_true(b.n > 0);
	memset(t.there, 0, sizeof t.there);
	list_some(&t, &b, 0, NAMES);
	assert_int_equal(b.n, 0);
	cookies_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_go_hide_no_other),
		cmocka_unit_test(names_that_come_and_go_hide_no_other),
		cmocka_unit_test(what_is_gone_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
