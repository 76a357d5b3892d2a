"""The repository's own checks find what they are for."""
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def plant(home, files):
    """A small tree with the check in it; gives what the check says."""
    tree = home.dir / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tree / "tools").mkdir(parents=True, exist_ok=True)
    for name in ("check_state_files.sh", "state_files.txt"):
        shutil.copy(ROOT / "tools" / name, tree / "tools")
    return home.run(tree / "tools" / "check_state_files.sh", code=None)


def test_a_planted_state_file_fails_the_check(home):
    for text in ('f = fopen("sessions.json", "w");',
                 'atomic_file_write("%s/run/skepd.pid", p, n, 0600, e);',
                 'snprintf(path, n, "%s/%s.jsonl", dir, id);',
                 'home_join(h, "state/registry.json");',
                 'open("queue.lock", O_CREAT);',
                 'sql_open(&db, "tasks/runs.sqlite", set, SQL_CREATE, e);',
                 'put("ok"); save("skep.json", "state.json");'):
        for folder in ("worker", "supervisor", "ops", "lib/sandbox"):
            r = plant(home, {folder + "/good.c": "int x;\n",
                             folder + "/bad.c": "int y;\n" + text + "\n"})
            assert r.code == 1, text
            assert r.out.startswith(folder + "/bad.c:2: "), r.out
        assert r.out.count("\n") == 1, r.out


def test_importers_tests_and_known_names_pass(home):
    r = plant(home, {
        "schema/agent/transcript/session_import.c": 'read("sessions.json");\n',
        "tests/unit/test_x.c": 'write("sessions.json");\n',
        "bench/b.c": 'write("out.jsonl");\n',
        "schema/home.def": 'HOME(CONFIG, "skep.json", false)\n',
        "cli/a.c": '/* never "sessions.json" */\n'
                   'puts("skep.json, agents/NAME/agent.json. A word.");\n'
                   'man("skep.json.5");\n'
                   'r.json = x.pid;\n'})
    assert r.code == 0, r.out


def test_this_tree_passes(home):
    r = home.run(ROOT / "tools" / "check_state_files.sh", code=None)
    assert r.code == 0, r.out


# -- tools/check_readmes.sh

README = """# %s: a library

This directory contains a library.
%s
Start with `a.h`.
"""


def check_readmes(home, changed=None, removed=None):
    """A tree with two directories, one of them changed."""
    tree = home.dir / "readmes"
    if not tree.exists():
        home.run("git", "init", "-q", tree)
    files = {"tools/deps.txt": "one :\ntwo : one\n",
             "tools/README.md": README.replace("a.h", "deps.txt") %
             ("tools", "It contains no C code."),
             "one/a.h": "", "one/README.md": README %
             ("one", "It may include nothing else of skep."),
             "two/a.h": "", "two/README.md": README %
             ("two", "It may include `one`."),
             "two/deep/a.h": "", "two/deep/README.md": README %
             ("two/deep", "It may include `two` and what `two` may include.")}
    for name, text in files.items():
        text = text if name != removed else None
        if changed and changed[0] == name:
            text = text.replace(*changed[1:])
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).unlink(missing_ok=True)
        if text is not None:
            (tree / name).write_text(text)
    shutil.copy(ROOT / "tools" / "check_readmes.sh", tree / "tools")
    return home.run(tree / "tools" / "check_readmes.sh", code=None)


def test_a_readme_begins_with_its_three_lines(home):
    r = check_readmes(home)
    assert r.code == 0, r.out
    for name, old, new, output in (
            ("one/README.md", "# one", "# on", "one/README.md:1: write the title"),
            ("one/README.md", "This directory", "It", "one/README.md:3: write"),
            ("two/README.md", "`one`", "`two`",
             'two/README.md:4: write "It may include `one`."'),
            ("two/deep/README.md", " and what", " or what",
             'two/deep/README.md:4: write "It may include `two` and what'),
            ("tools/deps.txt", "two : one", "two :", "two/README.md:4: write"),
            ("one/README.md", "Start with", "See", "one/README.md:5: write"),
            ("one/README.md", "`a.h`.", "`b.h`.", "one/README.md:5: b.h does not exist"),
            ("one/README.md", "`a.h`.", "`a.h`.\n\nSee `c.h`.",
             "one/README.md:7: c.h does not exist"),
            ("one/README.md", "a library.", "a" * 90, "one/README.md:3: is wider"),
            ("one/README.md", "Start with `a.h`.\n", "", "one/README.md: has fewer")):
        r = check_readmes(home, (name, old, new))
        assert r.code == 1 and output in r.out, (output, r.out)
    r = check_readmes(home, removed="two/deep/README.md")
    assert "two/deep: has no README.md" in r.out


# -- tools/check_docs.py

def check_docs(home, text):
    tree = home.dir / "docs"
    if not tree.exists():
        home.run("git", "init", "-q", tree)
        for name in ("docs", "lib", "tools"):
            (tree / name).mkdir()
        (tree / "lib/a.c").write_text("static int one(int n)\n{\n\treturn two(n);\n}\n")
        (tree / "lib/b.c").write_text("int two(int n)\n{\n\treturn n;\n}\n")
        shutil.copy(ROOT / "tools" / "check_docs.py", tree / "tools")
    (tree / "docs/ARCHITECTURE.md").write_text(text)
    return home.run(sys.executable, tree / "tools" / "check_docs.py", code=None)


def test_documents_name_files_and_functions_that_exist(home):
    r = check_docs(home, "`lib/a.c` and `lib/NAME.c` call `two()`.\n"
                   "| `lib/a.c` | `one()` |\n```\n`lib/x.c` " + "x" * 100 + "\n```\n")
    assert r.code == 0 and r.out == "", r.out
    r = check_docs(home, "`lib/c.c`\n`three()`\n| `lib/a.c` | `two()` |\n" + "x" * 101)
    assert r.code == 1 and r.out.splitlines() == [
        "docs/ARCHITECTURE.md:1: lib/c.c does not exist",
        "docs/ARCHITECTURE.md:2: three() is not defined in any C file",
        "docs/ARCHITECTURE.md:3: two() is not defined in lib/a.c",
        "docs/ARCHITECTURE.md:4: is wider than 100 columns"], r.out


# -- tools/check itself, with steps that do nothing

STEPS = """
for s in format includes sizes scripts headers fault replay build-clang tidy \\
	cppcheck threads build-release build-faults load torture; do
	eval "step_$s() { echo $s >>order; }"
done
step_build-gcc() { # beside the other row
	until grep -q build-release order; do sleep 0.05; done
	sleep 0.3; echo build-gcc >>order; }
step_unit() { for i in 1 2 3 4 5 6 7 8 9 10 11; do
	echo "$i/11 Test #$i: unit.t$i ....   Passed    $i.50 sec"; done
	echo "11 passed, 0 failed, 2 skipped"; }
step_system() { echo system >>order; echo "ok       area: it works (9.75 s)"
	echo "FAILED   area: it ends (12.00 s)"
	echo "3 passed, 1 failed, 0 skipped"; return 1; }
step_fuzz-fixed() { echo "fuzz_x: ok (30.25 s)"; }
"""


def checked(home, *args, steps=STEPS):
    tools = home.dir / "tree" / "tools"
    tools.mkdir(parents=True, exist_ok=True)
    for name in ("check", "slowest.py"):
        shutil.copy(ROOT / "tools" / name, tools)
    (tools / "lib.sh").write_text("need_packages() { return 0; }\n")
    (tools / "check_steps.sh").write_text(steps)
    return home.run(tools / "check", *args, code=None)


def test_the_whole_check_sums_up_and_names_the_slowest(home):
    r = checked(home)
    assert r.code == 1 and not r.err, r.out + r.err
    lines = r.out.splitlines()
    # 17 steps that count nothing, and those of two runners
    assert lines[-1] == "31 passed, 1 failed, 2 skipped", lines[-1]
    words = [line.split() for line in lines[-11:-1]]
    assert lines[-12] == "slowest tests:", r.out
    assert [(float(w[0]), w[2]) for w in words] == [
        (30.25, "fuzz-fixed"), (12.0, "system")] + [
        (n + 0.5, "unit") for n in (11, 10)] + [(9.75, "system")] + [
        (n + 0.5, "unit") for n in (9, 8, 7, 6, 5)], words
    order = (home.dir / "tree" / "order").read_text().split()
    assert order.index("build-gcc") < order.index("system"), order


def test_a_step_that_did_not_run_has_failed(home):
    r = checked(home, steps=STEPS.replace(
        "step_system() {", "step_system() { kill -9 $BASHPID;"))
    assert r.code == 1, r.out + r.err
    assert "system did not run to its end" in r.out, r.out


def test_single_steps_run_in_the_order_given(home):
    r = checked(home, "load", "format")
    assert (r.code, r.out.splitlines()[-1]) == (
        0, "2 passed, 0 failed, 0 skipped"), r.out
    assert (home.dir / "tree" / "order").read_text().split() == [
        "load", "format"]
    r = checked(home, "nothing")
    assert r.code == 64 and "there is no step 'nothing'" in r.err, r.err


def test_tests_that_begin_first_are_tests(home):
    runner = ROOT / "tests" / "system" / "run.py"
    listed = home.run(sys.executable, runner, "--list").out.splitlines()
    slow = (runner.parent / "slow.txt").read_text().splitlines()
    named = [line.split(" ", 1)[1] for line in slow if line[0] != "#"]
    assert len(named) > 50 and not set(named) - set(listed), \
        set(named) - set(listed)


def opens(home, text, listed=""):
    """What the check of opened files says of one line in skepd."""
    tree = home.dir / "opens"
    if not tree.exists():
        (tree / "supervisor").mkdir(parents=True)
        (tree / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "check_opens.sh", tree / "tools")
        home.run("git", "init", "-q", tree)
    (tree / "supervisor" / "x.c").write_text("int y;\n%s\n" % text)
    (tree / "tools" / "opens.txt").write_text(listed)
    return home.run(tree / "tools" / "check_opens.sh", code=None)


def test_a_planted_open_fails_the_check(home):
    for text in ("close(open(path, O_RDONLY));", "fd = openat(dir, path, 0);",
                 'f = fopen(path, "re");', 'f = freopen(path, "r", stdin);',
                 "fd = open64(path, 0);", "fd = creat(path, 0600);",
                 "fd = syscall(SYS_openat2, dir, path, &how, sizeof how);",
                 "uv_fs_open(loop, &req, path, 0, 0, NULL);"):
        r = opens(home, text)
        assert r.code == 1 and "supervisor/x.c: opens" in r.out, (text, r.out)
        assert opens(home, text, "supervisor/x.c 1 logs\n").code == 0, text
        r = opens(home, text + text, "supervisor/x.c 1 logs\n")
        assert r.code == 1 and "in 2 places" in r.out, (text, r.out)
    for text in ("fd = open_files_openat(AT_FDCWD, path, 0);", "reopen(path);",
                 "p->open(path);", "file_open(path);"):
        assert opens(home, text).code == 0, text
    assert "no supervisor/z.c" in opens(home, "", "supervisor/z.c 1 x\n").out


def test_this_tree_opens_only_what_is_listed(home):
    r = home.run(ROOT / "tools" / "check_opens.sh", code=None)
    assert r.code == 0, r.out
