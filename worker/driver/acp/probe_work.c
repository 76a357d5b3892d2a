/* A task for an agent under test: a file to write and a command to run, with a
 * result that cannot be guessed. */
#include "worker/driver/acp/probe.h"

#include "lib/base/id.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME   "skep-test-file.txt"
#define INPUT_NAME  "skep-test-input.txt"
#define OUTPUT_NAME "skep-test-output.txt"
#define READ_MAX    4096

int acp_probe_work_begin(struct acp_probe_work *w, const char *dir,
			 struct err *e)
{
	char path[PATH_MAX];
	unsigned number;

	id_random(&number, sizeof number);
	snprintf(w->word, sizeof w->word, "skep-%08x", number);
	id_random(&number, sizeof number);
	snprintf(w->input, sizeof w->input, "%08x", number);
	snprintf(path, sizeof path, "%s/%s", dir, INPUT_NAME);
	w->dir = dir;
	snprintf(w->prompt, sizeof w->prompt,
		 "This is a test of your tools; do exactly these two things in "
		 "the current directory and nothing else. First: with your "
		 "tool for writing files, create the file " FILE_NAME " with "
		 "the content %s. Second: with your tool for shell commands, "
		 "run the command `sort " INPUT_NAME
		 " | tr 0-9a-f g-v > " OUTPUT_NAME
		 "`. Then say that you are done.",
		 w->word);
	return atomic_file_write(path, w->input, strlen(w->input), 0600, e);
}

/* The output of `tr 0-9a-f g-v`. */
static void translate(const char *in, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (; *in; in++)
		*out++ = (char)('g' + (strchr(digits, *in) - digits));
	*out = '\0';
}

/* Whether the file contains this text, ignoring white space around it. */
static bool holds(const char *dir, const char *name, const char *text)
{
	struct buf b = BUF_MAX(READ_MAX);
	char path[PATH_MAX];
	struct err ignored;
	bool is;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	is = file_read(path, &b, &ignored) == 0;
	while (is && b.n > 0 && strchr(" \t\r\n", b.p[b.n - 1]))
		b.p[--b.n] = '\0';
	is = is && strcmp(b.p + strspn(b.p, " \t\r\n"), text) == 0;
	buf_fini(&b);
	return is;
}

int acp_probe_work_check(const struct acp_probe_work *w)
{
	char result[sizeof w->input];
	bool file = holds(w->dir, FILE_NAME, w->word), command;

	translate(w->input, result);
	command = holds(w->dir, OUTPUT_NAME, result);
	(void)probe_report("file", file,
			   file ? "the agent wrote a file"
				: "the agent was asked to write a file, but "
				  "the file does not exist");
	(void)probe_report(
		"command", command,
		command ? "the agent ran a command"
			: "the agent was asked to run a command, but "
			  "its result does not exist");
	return file && command ? 0 : -1;
}
