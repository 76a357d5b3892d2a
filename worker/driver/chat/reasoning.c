/*
 * Reasoning in messages of chat completions. Servers use different names for
 * the text; some add a list whose elements must be sent back unchanged.
 */
#include "worker/driver/chat/turn.h"

#include <stdlib.h>
#include <string.h>

/* The members of an element whose pieces are joined. */
static const char *const texts[] = {"text", "summary", "thinking"};

static const char *text_member(const cJSON *v)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (cJSON_IsString(json_member(v, texts[i])))
			return texts[i];
	return NULL;
}

static bool same_member(const cJSON *a, const cJSON *b, const char *name)
{
	const cJSON *x = json_member(a, name), *y = json_member(b, name);

	return (!x && !y) || (x && y && cJSON_Compare(x, y, true));
}

/* The element that a piece continues: the last one, if kind and index are the
 * same. Encrypted elements are complete. */
static struct chat_detail *goes_on(struct chat_turn *t, const cJSON *v,
				   const char *text)
{
	struct chat_detail *d;

	if (t->ndetails == 0 ||
	    (!text && !cJSON_IsString(json_member(v, "signature"))))
		return NULL;
	d = &t->details[t->ndetails - 1];
	return d->member && (!text || strcmp(d->member, text) == 0) &&
			       same_member(d->v, v, "type") &&
			       same_member(d->v, v, "index")
		       ? d
		       : NULL;
}

static struct chat_detail *add_detail(struct chat_turn *t, const char *text)
{
	struct chat_detail *d;

	if (!t->details)
		t->details = calloc(CHAT_DETAILS, sizeof *t->details);
	if (!t->details)
		abort();
	if (t->ndetails == CHAT_DETAILS)
		return NULL;
	d = &t->details[t->ndetails++];
	d->v = cJSON_CreateObject();
	d->member = text;
	buf_init(&d->text, CHAT_TEXT_MAX);
	return d;
}

/* Members of a later piece replace those of an earlier one, unless null. */
static int take_detail(struct chat_turn *t, const cJSON *v, struct err *e)
{
	const char *text = text_member(v);
	struct chat_detail *d = goes_on(t, v, text);
	const cJSON *m;

	if (!d)
		d = add_detail(t, text);
	if (!d)
		return err_set(e, ERR_TOOBIG,
			       "the model's reasoning has more than %d parts",
			       CHAT_DETAILS);
	cJSON_ArrayForEach(m, v)
	{
		if ((text && strcmp(m->string, text) == 0) || cJSON_IsNull(m))
			continue;
		cJSON_DeleteItemFromObjectCaseSensitive(d->v, m->string);
		cJSON_AddItemToObject(d->v, m->string,
				      cJSON_Duplicate(m, true));
	}
	if (text && buf_adds(&d->text, json_member(v, text)->valuestring))
		return err_set(e, ERR_TOOBIG,
			       "the model's reasoning is longer than %zu "
			       "bytes",
			       d->text.max);
	return 0;
}

cJSON *chat_turn_details(const struct chat_turn *t)
{
	cJSON *list = t->ndetails ? cJSON_CreateArray() : NULL;

	for (int i = 0; i < t->ndetails; i++) {
		const struct chat_detail *d = &t->details[i];
		cJSON *v = cJSON_Duplicate(d->v, true);

		if (d->member)
			cJSON_AddStringToObject(v, d->member, d->text.p);
		cJSON_AddItemToArray(list, v);
	}
	return list;
}

static int take_list(struct chat_turn *t, const cJSON *m, bool shown,
		     struct err *e)
{
	static const char *const lists[] = {"reasoning_details",
					    "thinking_blocks"};
	const cJSON *v;

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (!cJSON_IsArray(json_member(m, lists[i])) ||
		    (t->list && strcmp(t->list, lists[i]) != 0))
			continue;
		t->list = lists[i];
		cJSON_ArrayForEach(v, json_member(m, lists[i]))
		{
			const char *text = text_member(v);

			if (take_detail(t, v, e) ||
			    (text && !shown &&
			     chat_turn_text(t, CHAT_REASONING,
					    json_member(v, text), e)))
				return -1;
		}
	}
	return 0;
}

int chat_turn_reasoning(struct chat_turn *t, const cJSON *m, struct err *e)
{
	static const char *const fields[] = {"reasoning_content", "reasoning",
					     "reasoning_text", "thinking"};
	bool shown = false;

	for (size_t i = 0; i < sizeof fields / sizeof *fields && !shown; i++) {
		const cJSON *v = json_member(m, fields[i]);

		if (!cJSON_IsString(v))
			continue;
		if (!t->field || t->reasoning.n == 0)
			t->field = fields[i];
		shown = v->valuestring[0] != '\0';
		if (chat_turn_text(t, CHAT_REASONING, v, e))
			return -1;
	}
	return take_list(t, m, shown, e);
}
