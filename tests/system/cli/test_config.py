"""skep.json: checked before any database is opened."""
import json

from skepd_lib import Host


def write(home, text):
    home.path.mkdir(parents=True, exist_ok=True)
    (home.path / "skep.json").write_bytes(
        text if isinstance(text, bytes) else text.encode())


def test_without_a_file_the_defaults_are_in_force(home):
    assert home.skep("config", "show", "--json").json["log"]["level"] == "info"
    assert home.skep("config", "check", "--json").json["exists"] is False
    assert not home.path.exists()


def test_a_broken_file_is_reported_with_line_and_column(home):
    write(home, '{\n  "log": {\n    "level": oops\n  }\n}')
    error = home.refused(78, "config", "check")
    assert "line 3, column " in error and "skep.json" in error


def test_a_broken_file_stops_every_command_before_a_database_is_made(home):
    write(home, "{")
    home.refused(78, "agent", "add", "a", "--driver", "script")
    assert not home.control.exists()


def test_a_broken_file_does_not_keep_a_user_from_active_runs(home):
    h = Host(home).start()
    h.shell("a", "sleep 600")
    run = h.submit("a")
    h.until(run, "running")
    write(home, "{ bad")
    for words in (("ps",), ("show", run), ("logs", run), ("status",),
                  ("cancel", run, "--wait")):
        r = home.skep(*words)
        assert "warning: " in r.err and "column 4" in r.err, (words, r.err)
    assert h.get(run)["state"] == "cancelled"
    home.refused(78, "up")
    home.skep("down")


def test_an_unknown_key_is_a_warning_that_names_it(home):
    write(home, '{"log": {"levle": "info"}, "colour": {}}')
    r = home.skep("config", "check", "--json").json
    assert r["warnings"] == ["unknown key log.levle", "unknown section colour"]
    r = home.skep("config", "show")
    assert "warning" in r.err and "log.levle" in r.err


def test_a_wrong_value_is_named_with_what_is_allowed(home):
    write(home, '{"log": {"level": "loud"}}')
    error = home.refused(78, "config", "check")
    assert "log.level" in error and "debug|info|warn|error" in error
    write(home, '{"agent": {"diagnostics": "yes"}}')
    assert "agent.diagnostics" in home.refused(78, "config", "check")


def test_a_file_that_is_not_text_is_refused(home):
    write(home, b'{"log": "\xff\xfe"}')
    assert "UTF-8" in home.refused(78, "config", "check")
    write(home, b'{"log": "\0"}')
    assert "NUL" in home.refused(78, "config", "check")


def test_a_link_to_nowhere_is_not_the_same_as_no_file(home):
    home.path.mkdir()
    (home.path / "skep.json").symlink_to(home.dir / "gone")
    assert "skep.json" in home.refused(66, "config", "check")
    home.refused(66, "agent", "ls")


def test_what_is_shown_is_itself_a_valid_file(home):
    shown = home.skep("config", "show").out
    write(home, shown)
    r = home.skep("config", "check", "--json").json
    assert r["exists"] and r["warnings"] == []
    assert home.skep("config", "show").out == shown


def test_the_schema_describes_every_key_that_is_shown(home):
    schema = json.loads(home.skep("config", "schema").out)
    for section, keys in home.skep("config", "show", "--json").json.items():
        known = schema["properties"][section]["properties"]
        assert set(keys) == set(known)
        for key, value in keys.items():
            assert known[key]["default"] == value and known[key]["description"]


def test_undefined_and_null_homes_count_as_unset(home):
    for word in ("undefined", "null", ""):
        r = home.skep("config", "path", env={"SKEP_HOME": word})
        assert r.out.strip() == str(home.dir / ".skep" / "skep.json"), r.out
    assert not (home.dir / "null").exists()


def test_a_broken_object_is_not_stored_as_text(home):
    error = home.refused(64, "agent", "add", "a", "--driver", "exec", "--set",
                        'config={"shell":')
    assert "config: line 1, column 9" in error, error
    home.skep("agent", "add", "a", "--driver", "script", "--set",
              "prompt=[x] y")
