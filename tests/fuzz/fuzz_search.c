/*
 * Searches with anything that a person, or a model, can type. Plain words are
 * never an error of the database; an expression is run, or refused as the
 * caller's mistake. The text of any JSON keeps its ceiling, and strings of valid
 * UTF-8 stay that.
 */
#include "tests/support/temp.h"

#include "lib/base/text.h"
#include "schema/agent/agent_file.h"
#include "schema/agent/search/search.h"
#include "schema/agent/search/search_text.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct agent_file file;
static struct temp dir;

static void clean_up(void)
{
	agent_file_close(&file);
	temp_remove(&dir);
}

static void set_up_agent_file(void)
{
	struct err e = {0};

	temp_make(&dir);
	if (agent_file_open(&file, temp_join(&dir, "agent.sqlite"), "fuzz",
			    SQL_CREATE, &e) ||
	    sql_script(file.db,
		       "INSERT INTO session (id, sid, key, created_at, "
		       "updated_at) VALUES (1, 'ses_1', 'one', 1, 1);"
		       "INSERT INTO event (pos, type, at, body) VALUES "
		       "(4294967297, 2, 1, '{\"content\":\"a quick fox\"}')",
		       &e) ||
	    search_update(&file, 0, NULL, &e) != 1)
		abort();
	atexit(clean_up);
}

static void search_both(const char *query, unsigned flags)
{
	struct search s = {.query = query, .flags = flags | SEARCH_AS_IS};
	struct search_hit *hits;
	struct arena a = {0};
	struct err e = {0};

	if (search_run(&file, &s, &hits, &a, &e) < 0)
		assert(e.code == ERR_USAGE && e.text[0]);
	arena_fini(&a);
}

static void extract(const char *json, bool all)
{
	struct buf out = BUF_MAX(64), large = BUF_MAX((size_t)1 << 20);

	search_text_json(json, all, &out);
	search_text_json(json, all, &large);
	assert(out.n <= 64 && !out.over);
	assert(out.n <= large.n && memcmp(out.p, large.p, out.n) == 0);
	if (text_is_utf8(json, strlen(json)) && !strchr(json, '\\'))
		assert(text_is_utf8(large.p, large.n));
	buf_fini(&out);
	buf_fini(&large);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	if (!text)
		abort();
	if (!file.db)
		set_up_agent_file();
	memcpy(text, data, n);
	text[n] = '\0';
	search_both(text, 0);
	search_both(text, SEARCH_ADVANCED);
	extract(text, false);
	extract(text, true);
	free(text);
	return 0;
}
