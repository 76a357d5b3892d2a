#include "cli/import/import_cli.h"
#include "cli/state/ops_cli.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "ops/doctor/doctor.h"
#include "schema/control/control.h"

#include <stdlib.h>
#include <string.h>

struct doctor_command {
	struct cli *cli;
	struct found {
		enum finding_code code;
		struct finding f;
	} * all;
	int n, cap;
	const char *backup; /* created before the first repair */
};

static void found(void *arg, enum finding_code code, struct finding *f)
{
	struct doctor_command *p = arg;

	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 64;
		p->all = realloc(p->all, (size_t)p->cap * sizeof *p->all);
		if (!p->all)
			abort();
	}
	p->all[p->n++] = (struct found){code, *f};
}

static bool anything_to_fix(const struct doctor_command *p)
{
	for (int i = 0; i < p->n; i++)
		if (finding_fix(p->all[i].code) != FIX_NONE)
			return true;
	return false;
}

/* Creates a backup before repairs, if there is anything to copy. */
static int save_first(struct cli *cli, const char **made, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONTROL_DB);

	if (!file_exists(path.text))
		return 0;
	if (cli_open_control(cli, e))
		return err_wrap(e, "cannot make a backup before the fixes");
	*made = import_save_first(cli, e);
	if (!*made)
		return -1;
	output_note(&cli->out, "made a backup: %s", *made);
	return 0;
}

/* Prints the repairs by finding and subject. */
static int note_fixes(const struct doctor_command *p, struct err *e)
{
	struct buf b = BUF_MAX(1u << 20);
	int rc;

	json_begin_object(&b);
	json_put_array(&b, "fixed");
	for (int i = 0; i < p->n; i++) {
		const struct finding *f = &p->all[i].f;

		if (!f->fixed || strcmp(f->fixed, "yes") != 0)
			continue;
		json_begin_object(&b);
		json_put_text(&b, "finding", f->finding);
		json_put_text(&b, "subject", f->subject);
		json_end_object(&b);
	}
	json_end_array(&b);
	json_end_object(&b);
	rc = ops_audit(p->cli, "doctor.fix", NULL, b.over ? NULL : b.p, e);
	buf_fini(&b);
	return rc;
}

static int fix_all(struct doctor_command *p, struct doctor *d, struct err *e)
{
	struct cli *cli = p->cli;
	struct err ignored;

	if (!anything_to_fix(p))
		return 0;
	if (!cli_flag(cli, "dangerously-skip-backup") &&
	    save_first(cli, &p->backup, e))
		return -1;
	for (int i = 0; i < p->n; i++) {
		struct found *x = &p->all[i];
		struct err why;

		if (finding_fix(x->code) == FIX_NONE)
			continue;
		x->f.fixed = doctor_fix(d, x->code, &x->f, &why)
				     ? arena_text(&cli->arena, why.text)
				     : "yes";
	}
	/* a control plane that cannot be opened is a finding, and cannot store
	 * rows */
	if (!cli->control && cli_open_control(cli, &ignored))
		return 0;
	return note_fixes(p, e);
}

static void ignore_item(void *arg, const struct import_item *p)
{
	(void)arg;
	(void)p;
}

/* Also for a home without a state directory. */
static int import(void *arg, const char *path, struct err *e)
{
	struct doctor_command *p = arg;
	struct cli *cli = p->cli;
	struct import_writer host = import_cli_host(cli);
	struct import_run m = {.home = &cli->home,
			       .host = &host,
			       .root = path,
			       .backup = p->backup,
			       .report = ignore_item};
	int rc;

	if (!cli->control && cli_make_control(cli, e))
		return -1;
	m.control = cli->control;
	rc = import_apply(&m, e);
	arena_fini(&m.arena);
	return rc;
}

static enum output_style style_of(enum severity s)
{
	return s == SEVERITY_error     ? STYLE_BAD
	       : s == SEVERITY_warning ? STYLE_HEAD
				       : STYLE_DIM;
}

static void print_findings(const struct doctor_command *p)
{
	struct output *o = &p->cli->out;

	for (int i = 0; i < p->n; i++) {
		const struct finding *f = &p->all[i].f;
		enum severity s = finding_severity(p->all[i].code);

		if (o->json) {
			output_object(o, &finding_shape, f);
			continue;
		}
		output_label(o, style_of(s), f->severity, "%s: %s", f->subject,
			     f->what);
		output_note(o, "    why: %s", f->why);
		output_note(o, "    %s: %s", f->fixable ? "--fix" : "fix",
			    f->fix);
		if (f->fixed)
			output_note(o, "    fixed: %s", f->fixed);
	}
}

/* The exit status for the worst remaining finding. */
static int report_severity(const struct doctor_command *p, struct err *e)
{
	int count[3] = {0};

	for (int i = 0; i < p->n; i++)
		if (!p->all[i].f.fixed || strcmp(p->all[i].f.fixed, "yes") != 0)
			count[finding_severity(p->all[i].code)]++;
	if (count[SEVERITY_error])
		return err_set(
			e, ERR_CORRUPT, "%d %s, %d %s", count[SEVERITY_error],
			text_plural(count[SEVERITY_error], "error", "errors"),
			count[SEVERITY_warning],
			text_plural(count[SEVERITY_warning], "warning",
				    "warnings"));
	if (count[SEVERITY_warning])
		return err_set(e, ERR_FAILED, "%d %s, no errors",
			       count[SEVERITY_warning],
			       text_plural(count[SEVERITY_warning], "warning",
					   "warnings"));
	output_note(&p->cli->out, "no errors, no warnings, %d %s",
		    count[SEVERITY_info],
		    text_plural(count[SEVERITY_info], "hint", "hints"));
	return 0;
}

static int doctor(struct cli *cli, struct err *e)
{
	struct doctor_command p = {.cli = cli};
	struct ops_bar bar;
	struct doctor d = {.home = &cli->home,
			   .quick = cli_flag(cli, "quick"),
			   .alone = cli_flag(cli, "no-import"),
			   .found = found,
			   .import = import,
			   .arg = &p};
	int rc = 0;

	if (!file_exists(cli->home.root))
		return err_set(e, ERR_NOTFOUND, "there is no skep home at %s",
			       cli->home.root);
	d.progress = ops_bar(&bar, cli, "looking at databases");
	doctor_examine(&d);
	ops_bar_end(&bar);
	if (cli_flag(cli, "fix"))
		rc = fix_all(&p, &d, e);
	print_findings(&p);
	if (!rc)
		rc = report_severity(&p, e);
	doctor_fini(&d);
	free(p.all);
	return rc;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.help = "check the home for problems and suggest fixes",
	.about = "The checks cover the configuration, file permissions, locks, "
		 "mounts, sockets, leftover processes, the registry, schemas, "
		 "integrity, write-ahead logs and their readers, disk space, "
		 "the clock, features of this machine, and state of other "
		 "programs that can be imported.\n"
		 "\n"
		 "Nothing is changed without --fix. With --fix, a backup is "
		 "made and verified first, and then the suggested fix of each "
		 "finding is applied.\n"
		 "\n"
		 "The exit status is 0 without findings, 1 with warnings and "
		 "65 with errors.",
	.needs = NEEDS_HOME,
	.options = OPTIONS(
		FLAG(0, "fix", "fix the problems that can be fixed"),
		FLAG(0, "quick", "skip the integrity checks"),
		FLAG(0, "no-import", "do not import state of other programs"),
		FLAG(0, "dangerously-skip-backup",
		     "with --fix, do not make a backup first")),
	.run = doctor,
};
