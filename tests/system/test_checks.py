"""The repository's own checks find what they are for."""
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def plant(home, files):
    """A small tree with the check in it; gives what the check says."""
    tree = home.dir / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tree / "tools").mkdir(parents=True, exist_ok=True)
    for name in ("check_legacy.sh", "legacy.txt"):
        shutil.copy(ROOT / "tools" / name, tree / "tools")
    return home.run(tree / "tools" / "check_legacy.sh", code=None)


def test_a_planted_state_file_fails_the_check(home):
    for text in ('f = fopen("sessions.json", "w");',
                 'file_write_atomic("%s/run/skepd.pid", p, n, 0600, e);',
                 'snprintf(path, n, "%s/%s.jsonl", dir, id);',
                 'home_join(h, "state/registry.json");',
                 'open("queue.lock", O_CREAT);',
                 'sql_open(&db, "tasks/runs.sqlite", set, SQL_CREATE, e);',
                 'put("ok"); save("skep.json", "state.json");'):
        for folder in ("worker", "supervisor", "ops", "sandbox"):
            r = plant(home, {folder + "/good.c": "int x;\n",
                             folder + "/bad.c": "int y;\n" + text + "\n"})
            assert r.code == 1, text
            assert r.out.startswith(folder + "/bad.c:2: "), r.out
        assert r.out.count("\n") == 1, r.out


def test_importers_tests_and_known_names_pass(home):
    r = plant(home, {
        "schema/import.c": 'read("sessions.json");\n',
        "tests/unit/test_x.c": 'write("sessions.json");\n',
        "bench/b.c": 'write("out.jsonl");\n',
        "base/home.def": 'HOME(CONFIG, "skep.json", false)\n',
        "cli/a.c": '/* never "sessions.json" */\n'
                   'puts("skep.json, agents/NAME/agent.json. A word.");\n'
                   'man("skep.json.5");\n'
                   'r.json = x.pid;\n'})
    assert r.code == 0, r.out


def test_this_tree_passes(home):
    r = home.run(ROOT / "tools" / "check_legacy.sh", code=None)
    assert r.code == 0, r.out
