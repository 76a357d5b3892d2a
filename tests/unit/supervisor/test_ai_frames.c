/* What a run wrote, as the AI SDK's client reads it:
 * supervisor/api/stream/ai_frames.h. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/tail.h"
#include "supervisor/api/stream/ai_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS 256

static struct temp dir;
static struct agent_file file;

/* A client that puts the message together, as strict as the stock one. */
struct client {
	struct ai_frames frames;
	int n;
	struct {
		char id[64];
		bool ended;
		struct buf text;
	} blocks[BLOCKS];
	struct buf types; /* of all frames, for short stories */
};

static int block_of(struct client *c, const char *id)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->blocks[i].id, id) == 0)
			return i;
	return -1;
}

static void on_frame(void *arg, const struct buf *frame)
{
	struct client *c = arg;
	struct err e = {0};
	cJSON *v = json_parse_object("frame", frame->p, frame->n, &e);
	const char *type, *id, *call;
	int i;

	if (!v)
		fail_msg("%s: %s", e.text, frame->p);
	type = json_text(v, "type", "");
	id = json_text(v, "id", NULL);
	call = json_text(v, "toolCallId", NULL);
	buf_addf(&c->types, "%s ", type);
	i = block_of(c, id ? id : call ? call : "");
	if (strstr(type, "-start") && (id || call)) {
		assert_int_equal(i, -1);
		assert_true(c->n < BLOCKS);
		i = c->n++;
		snprintf(c->blocks[i].id, 64, "%s", id ? id : call);
		buf_init(&c->blocks[i].text, 1 << 16);
	} else if (strstr(type, "-delta")) {
		assert_true(i >= 0 && !c->blocks[i].ended);
		buf_adds(&c->blocks[i].text, json_text(v, "delta", ""));
	} else if (strstr(type, "-end") || strstr(type, "tool-output")) {
		assert_true(i >= 0 && !c->blocks[i].ended);
		c->blocks[i].ended = true;
	}
	cJSON_Delete(v);
}

static void client_init(struct client *c)
{
	*c = (struct client){0};
	ai_frames_init(&c->frames, on_frame, c);
	buf_init(&c->types, 1 << 20);
}

static void client_fini(struct client *c)
{
	for (int i = 0; i < c->n; i++)
		buf_fini(&c->blocks[i].text);
	buf_fini(&c->types);
	ai_frames_fini(&c->frames);
}

static int on_item(void *arg, const struct tail *t,
		   const struct tail_item *item)
{
	struct client *c = arg;

	(void)t;
	ai_frames_item(&c->frames, item);
	return rand() % 8 == 0;
}

static struct tail *follow_session(void)
{
	struct tail *t;
	struct err e;

	assert_int_equal(
		tail_open(&t, &(struct tail_options){.session = "s"}, &e), 0);
	return t;
}

static void read_tail(struct tail *t, struct client *c)
{
	struct err e = {0};
	int more;

	while ((more = tail_read(t, &file, on_item, c, &e)) > 0)
		;
	if (more < 0)
		fail_msg("%s", e.text);
}

static int set_up_ai_frames(void **state)
{
	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	return 0;
}

static int tear_down_ai_frames(void **state)
{
	(void)state;
	agent_file_close(&file);
	temp_remove(&dir);
	return 0;
}

static int64_t append_event(struct writer *w, const char *type,
			    const char *body)
{
	struct event_new ev = {
		.type = type, .body = body, .parent = WRITER_LEAF};
	struct event_ref ref;
	struct err e = {0};

	if (writer_append(w, &ev, &ref, &e))
		fail_msg("%s", e.text);
	return ref.pos;
}

static void begin_part(struct part *p, struct writer *w, int64_t pos,
		       const struct part_new *n)
{
	struct err e = {0};

	if (part_open(p, w, pos, n, &e))
		fail_msg("%s", e.text);
}

static void change_part(struct part *p, const char *state, const char *output)
{
	struct part_change_new c = {.state = state, .output = output};
	struct err e = {0};

	if (part_set(p, &c, &e))
		fail_msg("%s", e.text);
}

static void a_run_is_one_message_with_its_parts(void **state)
{
	struct part_new tool = {.kind = "tool",
				.name = "ls",
				.call_id = "c1",
				.input = "{\"path\":\"/\"}",
				.state = "input"};
	struct part_new text = {.kind = "text", .text = "hello"};
	struct tail *t = follow_session();
	struct client c;
	struct writer w;
	struct part a, b;
	int64_t pos;

	(void)state;
	client_init(&c);
	ai_frames_start(&c.frames, "run_1");
	test_writer_open(&w, &file, "s");
	append_event(&w, "message", "{\"role\":\"user\",\"text\":\"hi\"}");
	pos = append_event(&w, "message", "{\"role\":\"assistant\"}");
	begin_part(&a, &w, pos, &text);
	begin_part(&b, &w, pos, &tool);
	read_tail(t, &c);
	change_part(&a, "done", NULL);
	change_part(&b, "done", "{\"files\":[]}");
	read_tail(t, &c);
	ai_frames_end(&c.frames, "succeeded", NULL);
	assert_string_equal(c.types.p,
			    "start start-step text-start text-delta "
			    "tool-input-start tool-input-available text-end "
			    "tool-output-available finish-step finish ");
	part_close(&a);
	part_close(&b);
	tail_close(t);
	client_fini(&c);
}

static void a_text_that_becomes_reasoning_stays_what_it_was(void **state)
{
	struct part_new text = {.kind = "text", .text = "hm"};
	struct part_change_new thought = {.kind = "reasoning"};
	struct tail *t = follow_session();
	struct client c;
	struct writer w;
	struct err e = {0};
	struct part a;

	(void)state;
	client_init(&c);
	ai_frames_start(&c.frames, "run_1");
	test_writer_open(&w, &file, "s");
	begin_part(&a, &w,
		   append_event(&w, "message", "{\"role\":\"assistant\"}"),
		   &text);
	read_tail(t, &c);
	assert_int_equal(part_set(&a, &thought, &e), 0);
	assert_true(part_add(&a, "m", 1, &e) >= 0);
	change_part(&a, "done", NULL);
	read_tail(t, &c);
	ai_frames_end(&c.frames, "succeeded", NULL);
	assert_string_equal(c.types.p,
			    "start start-step text-start text-delta "
			    "text-delta text-end finish-step finish ");
	part_close(&a);
	tail_close(t);
	client_fini(&c);
}

static void an_aborted_call_is_an_error_the_client_knows(void **state)
{
	struct part_new tool = {.kind = "tool", .name = "ls", .call_id = "c1"};
	struct tail *t = follow_session();
	struct client c;
	struct writer w;
	struct part p;

	(void)state;
	client_init(&c);
	test_writer_open(&w, &file, "s");
	begin_part(&p, &w,
		   append_event(&w, "message", "{\"role\":\"assistant\"}"),
		   &tool);
	change_part(&p, "aborted", "{\"error\":\"worker died\"}");
	read_tail(t, &c);
	ai_frames_end(&c.frames, "failed", "the worker died");
	assert_string_equal(c.types.p,
			    "tool-input-start tool-input-available "
			    "tool-output-error finish-step error finish ");
	part_close(&p);
	tail_close(t);
	client_fini(&c);
}

static void plain_output_is_one_text(void **state)
{
	struct tail *t = follow_session();
	struct client c;
	struct writer w;

	(void)state;
	client_init(&c);
	test_writer_open(&w, &file, "s");
	append_event(&w, "output", "{\"text\":\"a\"}");
	append_event(&w, "stderr", "{\"text\":\"not shown\"}");
	append_event(&w, "output", "{\"text\":\"b\"}");
	read_tail(t, &c);
	ai_frames_end(&c.frames, "cancelled", NULL);
	assert_int_equal(c.n, 1);
	assert_string_equal(c.blocks[0].text.p, "a\nb\n");
	assert_non_null(strstr(c.types.p, "text-end abort "));
	tail_close(t);
	client_fini(&c);
}

static void a_question_waits_for_approval_until_it_is_answered(void **state)
{
	struct tail *t = follow_session();
	struct client c;
	struct writer w;

	(void)state;
	client_init(&c);
	test_writer_open(&w, &file, "s");
	append_event(&w, "approval", "{\"state\":\"asked\",\"key\":\"a\"}");
	read_tail(t, &c);
	assert_string_equal(c.types.p,
			    "finish-step start-step tool-input-start "
			    "tool-input-available tool-approval-request ");
	buf_clear(&c.types);
	ai_frames_pause(&c.frames, "17");
	assert_string_equal(c.types.p, "finish-step finish ");
	buf_clear(&c.types);
	append_event(
		&w, "approval",
		"{\"state\":\"answered\",\"key\":\"a\",\"decision\":\"deny\"}");
	append_event(&w, "approval",
		     "{\"state\":\"ruled\",\"decision\":\"deny\"}");
	read_tail(t, &c);
	assert_string_equal(c.types.p, "tool-output-denied ");
	tail_close(t);
	client_fini(&c);
}

/* A driver that does anything it may do, with parts on its last message. */
struct life {
	struct writer w;
	int64_t pos;
	struct part open[3];
	bool is_open[3];
	int made;
};

static void live(struct life *l)
{
	struct part_new kinds[] = {{.kind = "text"},
				   {.kind = "reasoning"},
				   {.kind = "tool", .name = "t"}};
	struct err e = {0};
	int i = rand() % 3;

	switch (rand() % 5) {
	case 0:
		if (rand() % 4 == 0)
			l->pos = append_event(&l->w, "message",
					      "{\"role\":\"assistant\"}");
		else
			append_event(&l->w, "output", "{\"text\":\"line\"}");
		break;
	case 1:
		if (!l->is_open[i] && l->pos && l->made++ < 100) {
			begin_part(&l->open[i], &l->w, l->pos, &kinds[i]);
			l->is_open[i] = true;
		}
		break;
	case 2:
		if (l->is_open[i]) {
			change_part(&l->open[i], "done", "{}");
			part_close(&l->open[i]);
		}
		l->is_open[i] = false;
		break;
	default:
		if (l->is_open[i] && i < 2 &&
		    (part_add(&l->open[i], "xyz", 3, &e) < 0 ||
		     part_flush(&l->open[i], &e)))
			fail_msg("%s", e.text);
	}
}

static void whenever_one_connects_the_message_is_the_same(void **state)
{
	struct tail *t = follow_session(), *late = follow_session();
	struct client *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
	struct life l = {0};

	(void)state;
	srand(11);
	client_init(a);
	client_init(b);
	test_writer_open(&l.w, &file, "s");
	for (int i = 0; i < 1500; i++) {
		live(&l);
		if (rand() % 3 == 0)
			read_tail(t, a);
	}
	for (int i = 0; i < 3; i++)
		if (l.is_open[i]) {
			change_part(&l.open[i], "done", "{}");
			part_close(&l.open[i]);
		}
	read_tail(t, a);
	read_tail(late, b);
	ai_frames_end(&a->frames, "succeeded", NULL);
	ai_frames_end(&b->frames, "succeeded", NULL);
	assert_true(a->n > 20);
	assert_int_equal(a->n, b->n);
	for (int i = 0; i < a->n; i++) {
		int k = block_of(b, a->blocks[i].id);

		assert_true(k >= 0 && a->blocks[i].ended && b->blocks[k].ended);
		assert_string_equal(a->blocks[i].text.p, b->blocks[k].text.p);
	}
	tail_close(t);
	tail_close(late);
	client_fini(a);
	client_fini(b);
	free(a);
	free(b);
}

#define T(name)                                                 \
	cmocka_unit_test_setup_teardown(name, set_up_ai_frames, \
					tear_down_ai_frames)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_run_is_one_message_with_its_parts),
		T(a_text_that_becomes_reasoning_stays_what_it_was),
		T(an_aborted_call_is_an_error_the_client_knows),
		T(plain_output_is_one_text),
		T(a_question_waits_for_approval_until_it_is_answered),
		T(whenever_one_connects_the_message_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
