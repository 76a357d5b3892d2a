#ifndef TESTS_SUPPORT_AGENT_FIXTURE_H
#define TESTS_SUPPORT_AGENT_FIXTURE_H

#include "lib/base/arena.h"
#include "tests/support/agent.h"
#include "tests/support/temp.h"

/* An agent file for each test of a program, and an arena. The file must be sound
 * at the end of the test. */
static struct temp dir;
static struct agent_file file;
static struct arena mem;

static int set_up_agent(void **state)
{
	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	return 0;
}

static int tear_down_agent(void **state)
{
	(void)state;
	test_integrity(&file);
	agent_file_close(&file);
	arena_fini(&mem);
	mem = (struct arena){0};
	temp_remove(&dir);
	return 0;
}

#endif
