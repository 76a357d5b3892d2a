#include "cli/try/try_report.h"
#include "cli/try/try_view.h"
#include "lib/os/atomic_file.h"

#include <string.h>

#define REPORT_MAX ((size_t)256 << 20)

static bool is_json(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ".json");
}

static int try_report(struct cli *cli, struct err *e)
{
	const char *path = cli_option(cli, "output");
	struct buf out = BUF_MAX(REPORT_MAX);
	struct try_report r;
	bool json = cli->out.json || (path && is_json(path));
	int rc;

	if (try_report_read(cli, cli_arg(cli, 0), &r, e))
		return -1;
	if (!path && !json)
		path = arena_printf(&cli->arena, "%s.html", r.row.id);
	rc = json ? try_report_json(&r, &out, e)
		  : try_report_html(cli, &r, &out, e);
	if (rc == 0)
		rc = buf_ok(&out, "the report", e);
	if (rc == 0 && (!path || !strcmp(path, "-")))
		fwrite(out.p, 1, out.n, cli->out.to);
	else if (rc == 0)
		rc = atomic_file_write(path, out.p, out.n, 0644, e);
	if (rc == 0 && path && strcmp(path, "-") != 0)
		output_note(&cli->out, "%s", path);
	buf_fini(&out);
	return rc;
}

const struct command cmd_try_report = {
	.name = "try report",
	.args = "[EXPERIMENT]",
	.help = "write the results of an experiment to one file",
	.about =
		"The file is a page without scripts or external resources: "
		"variants with medians and their spread, comparisons of "
		"variants by a permutation test, plots, all trials, the output "
		"of their checks and their changes. A file whose name ends "
		"with .json, or --json, contains the results as JSON.",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(TRY_EXPERIMENT),
	.options = OPTIONS(
		OPT_OUTPUT("write to FILE (default: EXPERIMENT.html; "
			   "'-' is standard output)")),
	.run = try_report,
};
