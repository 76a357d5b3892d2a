#include "tests/support/agent_fixture.h"

#include "schema/agent/search/vector.h"
#include "schema/agent/transcript/event.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIM   37 /* no multiple of a vector register */
#define COUNT 500

static float vectors[COUNT][DIM];
static int64_t places[COUNT];
static uint32_t seed = 1;

static uint32_t dice(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

/* Whole numbers, so that sums are exact in any order; many ties. */
static void fill_vector(float *v)
{
	for (int i = 0; i < DIM; i++)
		v[i] = (float)((int)(dice() % 9) - 4);
}

static void put_vector(int64_t pos, const char *model, const float *v,
		       size_t dim)
{
	struct err e = {0};

	if (vector_put(file.db, pos, model, v, dim, &e))
		fail_msg("%s", e.text);
}

/* COUNT events in two sessions, each with a vector. */
static void make_events(void)
{
	struct writer w[2];

	test_writer_open(&w[0], &file, "one");
	test_writer_open(&w[1], &file, "two");
	for (int i = 0; i < COUNT; i++) {
		struct writer *at = &w[i % 3 == 0];

		places[i] = event_pos(at->session,
				      test_append_message(at, "x"));
		fill_vector(vectors[i]);
		put_vector(places[i], "m", vectors[i], DIM);
	}
	memset(vectors[7], 0, sizeof vectors[7]);
	put_vector(places[7], "m", vectors[7], DIM);
}

static double plain_score(const float *a, const float *b,
			  enum vector_metric metric)
{
	double ab = 0, aa = 0, bb = 0;

	for (int i = 0; i < DIM; i++) {
		ab += (double)a[i] * (double)b[i];
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
	}
	if (metric == VECTOR_DOT)
		return ab;
	return aa > 0 && bb > 0 ? ab / (sqrt(bb) * sqrt(aa)) : 0;
}

static int nearest_first(const void *a, const void *b)
{
	const struct vector_hit *x = a, *y = b;

	if (x->score < y->score || x->score > y->score)
		return x->score < y->score ? 1 : -1;
	return x->pos < y->pos ? -1 : 1;
}

static void compare_with_scan(const struct vector_query *q)
{
	struct vector_hit plain[COUNT], *hits;
	int n = 0, got;
	struct err e = {0};

	for (int i = 0; i < COUNT; i++)
		if (!q->session || event_session(places[i]) == q->session)
			plain[n++] = (struct vector_hit){
				.pos = places[i],
				.score = plain_score(q->v, vectors[i],
						     q->metric)};
	qsort(plain, (size_t)n, sizeof plain[0], nearest_first);
	got = vector_search(file.db, q, &hits, &mem, &e);
	if (got < 0)
		fail_msg("%s", e.text);
	assert_int_equal(got, n < q->k ? n : q->k);
	for (int i = 0; i < got; i++) {
		assert_int_equal(hits[i].pos, plain[i].pos);
		assert_true(hits[i].score == plain[i].score);
	}
}

static void the_nearest_are_those_of_brute_force(void **state)
{
	static const int ks[] = {1, 2, 10, COUNT - 1, COUNT, COUNT + 1};
	float v[DIM];

	(void)state;
	make_events();
	for (int round = 0; round < 20; round++) {
		struct vector_query q = {.model = "m", .v = v, .dim = DIM};

		fill_vector(v);
		q.k = ks[round % 6];
		q.metric = round % 2 ? VECTOR_DOT : VECTOR_COSINE;
		q.session = round % 4 == 3 ? event_session(places[0]) : 0;
		compare_with_scan(&q);
	}
}

static void real_numbers_are_right_to_single_precision(void **state)
{
	float v[DIM], w[DIM];
	struct writer wr;
	struct vector_hit *hits;
	struct err e;
	int64_t pos;

	(void)state;
	test_writer_open(&wr, &file, "one");
	pos = event_pos(wr.session, test_append_message(&wr, "x"));
	for (int i = 0; i < DIM; i++) {
		v[i] = (float)dice() / 1e7f - 0.8f;
		w[i] = (float)dice() / 1e7f - 0.8f;
	}
	put_vector(pos, "m", v, DIM);
	assert_int_equal(
		vector_search(file.db,
			      &(struct vector_query){
				      .model = "m", .v = w, .dim = DIM, .k = 1},
			      &hits, &mem, &e),
		1);
	assert_true(fabs(hits[0].score - plain_score(w, v, VECTOR_COSINE)) <
		    1e-5);
}

static void vectors_are_plain_float32_and_go_with_their_event(void **state)
{
	float v[2] = {1.0f, -2.0f};
	struct writer w;
	int64_t pos;

	(void)state;
	test_writer_open(&w, &file, "one");
	pos = event_pos(w.session, test_append_message(&w, "x"));
	put_vector(pos, "m", v, 2);
	put_vector(pos, "other", v, 1);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM embedding "
					    "WHERE vector = "
					    "x'0000803f000000c0'"),
			 1);
	test_sql(&file, "DELETE FROM event");
	assert_int_equal(test_number(&file, "SELECT count(*) FROM embedding"),
			 0);
}

static void what_does_not_fit_is_refused(void **state)
{
	float v[3] = {1, 2, 3};
	struct vector_query q = {.model = "m", .v = v, .dim = 3, .k = 1};
	struct vector_hit *hits;
	struct writer w;
	struct err e = {0};
	int64_t pos;

	(void)state;
	test_writer_open(&w, &file, "one");
	pos = event_pos(w.session, test_append_message(&w, "x"));
	assert_int_equal(vector_search(file.db, &q, &hits, &mem, &e), 0);
	put_vector(pos, "m", v, 2);
	assert_int_equal(vector_put(file.db, pos, "m", v, 3, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(vector_search(file.db, &q, &hits, &mem, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(vector_put(file.db, pos + 1, "m", v, 2, &e), -1);
	v[1] = NAN;
	assert_int_equal(vector_put(file.db, pos, "m", v, 2, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_int_equal(vector_put(file.db, pos, "m", v, 0, &e), -1);
	q.k = 0;
	v[1] = 0;
	assert_int_equal(vector_search(file.db, &q, &hits, &mem, &e), -1);
	assert_int_equal(vector_delete(file.db, pos, "m", &e), 1);
	assert_int_equal(vector_delete(file.db, pos, "none", &e), 0);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, set_up_agent, tear_down_agent)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_nearest_are_those_of_brute_force),
		TEST(real_numbers_are_right_to_single_precision),
		TEST(vectors_are_plain_float32_and_go_with_their_event),
		TEST(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
