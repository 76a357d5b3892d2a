"""What people see on a terminal: colour, width, and nothing that data sends."""
import json
import os
import re

from terminal_lib import on_terminal, plain


def fresh(home):
    home.skep("agent", "add", "a", "--driver", "script", "--model", "m" * 70)


def test_a_table_fits_the_terminal_and_its_head_stands_out(home):
    fresh(home)
    for columns in (60, 100, 200):
        code, out = on_terminal(home, "agent", "ls", columns=columns)
        assert code == 0 and out.startswith("\x1b[1mNAME")
        widest = max(len(line) for line in plain(out).splitlines())
        assert widest <= max(columns, 90), (columns, out)
    assert "…" in on_terminal(home, "agent", "ls", columns=100)[1]
    assert "m" * 70 in on_terminal(home, "agent", "ls", columns=200)[1]


def test_what_names_a_row_is_never_cut(home):
    home.skep("agent", "add", "a", "--driver", "script")
    name = "a-name-as-long-as-an-id-of-ours"
    home.skep("agent", "add", name, "--driver", "script", "--set", "model=" + "m" * 70)
    for columns in (40, 60, 100):
        assert name + " " in on_terminal(home, "agent", "ls", columns=columns)[1]


def test_colour_can_be_refused(home):
    fresh(home)
    assert "\x1b" in on_terminal(home, "agent", "show", "a")[1]
    for args, env in ((["--no-color"], {}), ([], {"NO_COLOR": "1"}),
                      ([], {"TERM": "dumb"}), (["--json"], {})):
        code, out = on_terminal(home, "agent", "show", "a", *args, env=env)
        assert code == 0 and "\x1b" not in out, (args, env, out)


def test_errors_stand_out_and_are_one_line(home):
    code, out = on_terminal(home, "agent", "show", "none")
    assert code == 66 and out.startswith("\x1b[31mskep:\x1b[0m ")
    assert out.count("\n") == 1


def test_bytes_that_may_not_be_text_stay_away_from_a_terminal(home):
    fresh(home)
    home.skep("artifact", "put", "-", "blob", "--owner", "o",
              input=b"\x1b]0;x\x07\xff\x00")
    home.skep("artifact", "put", "-", "note", "--owner", "o", "--mime",
              "text/plain", input=b"plain \x1b[31m text\n")
    code, out = on_terminal(home, "artifact", "get", "blob", "--owner", "o")
    assert code == 64 and "--output" in out
    code, out = on_terminal(home, "artifact", "get", "note", "--owner", "o")
    assert code == 0 and out == "plain \\x1b[31m text\n"
    assert home.skep("artifact", "get", "blob", "--owner", "o").raw == \
        b"\x1b]0;x\x07\xff\x00"


def test_long_work_shows_a_bar_and_clears_it(home):
    fresh(home)
    big = home.dir / "big"
    big.write_bytes(os.urandom(64 << 20))
    code, out = on_terminal(home, "artifact", "put", big, "--owner", "o")
    assert code == 0
    assert re.search(r"storing \[#+\.*\] +\d+ %.* left", out), out[:200]
    assert "\r\x1b[K" in out
    assert "storing" not in home.skep("artifact", "put", big, "--owner",
                                      "o").err


def test_styles_are_not_shown_as_text(home):
    fresh(home)
    home.skep("session", "append", "s", "hello")
    (home.path / "agents" / "a" / "agent.sqlite").chmod(0o644)  # a finding
    for args in (["doctor", "--no-import"], ["agent", "ls"], ["agent", "show", "a"],
                 ["session", "show", "s", "--events"], ["state", "stats"],
                 ["config", "show"], ["--help"], ["nonsense"]):
        out = on_terminal(home, *args)[1]
        assert "\\x1b" not in out and "\\033" not in out, (args, out)
    assert "\x1b[1mwarning\x1b[0m" in on_terminal(home, "doctor",
                                                  "--no-import")[1]


NASTY = "a\u009b31mb\u0085c\u202ed\x1b]0;t\x07e\u2066f\x7f"
UNSAFE = "\u009b\u0085\u202e\u2066\x07"


def test_json_on_a_terminal_has_no_control_characters(home):
    """C1 controls need no escape in JSON, but a terminal acts on them."""
    home.skep("agent", "add", "a", "--driver", "script", "--model",
              NASTY.replace("\x1b", ""))
    home.skep("session", "append", "s", NASTY)
    home.skep("session", "title", "s", NASTY)
    home.skep("session", "patch", "s", json.dumps({"meta": {NASTY: NASTY}}))
    home.skep("vfs", "put", "a", "f" + NASTY.replace("/", ""), input="x")
    for args in (["session", "ls"], ["session", "show", "s"],
                 ["session", "show", "s", "--events"], ["session", "tail", "s"],
                 ["agent", "ls"], ["agent", "show", "a"], ["vfs", "ls", "a"],
                 ["session", "search", "a*"], ["state", "ls"],
                 ["session", "export", "s"], ["vfs", "tree", "a"],
                 ["vfs", "find", "a"], ["config", "show"]):
        for more in ([], ["--json"]):
            code, out = on_terminal(home, *args, *more, columns=300)
            bad = [c for c in UNSAFE if c in plain(out)]
            assert not bad and "\x1b]" not in out, (args, more, bad, out)
            if more:
                assert "\x1b" not in out, (args, out)
    for args in (["session", "show", NASTY], ["vfs", "cat", "a", NASTY],
                 ["show", NASTY]):  # errors, on standard error
        code, out = on_terminal(home, *args, "--json", columns=300)
        assert code and not any(c in out for c in UNSAFE + "\x1b"), (args, out)
        assert json.loads(out)["exit"] == code, out
    # the same values as without a terminal
    wanted = home.skep("session", "ls", "--json").json
    assert wanted["title"] == NASTY
    code, out = on_terminal(home, "session", "ls", "--json", columns=300)
    assert json.loads(out) == wanted


def test_what_deletes_data_asks_first(home):
    """On a terminal, unless --yes is given."""
    fresh(home)
    for s in ("s1", "s2"):
        home.skep("session", "append", s, "hello")
    code, out = on_terminal(home, "session", "rm", "s1", typed="n\n")
    assert code == 75 and "session 's1' of agent 'a' permanently?" in out, out
    assert "nothing was deleted" in out
    code, out = on_terminal(home, "session", "rm", "s1", typed="y\n")
    assert code == 0 and out.endswith("removed session s1\n"), out
    code, out = on_terminal(home, "session", "rm", "s2", "-y", typed="")
    assert code == 0 and out == "removed session s2\n", out
    code, out = on_terminal(home, "agent", "rm", "a", "--purge", typed="\n")
    assert code == 75 and "agent 'a' with its sessions and files" in out, out
    assert home.skep("agent", "ls", "-q").out == "a\n"
    home.skep("agent", "rm", "a", "--purge")  # not on a terminal


def test_standard_input_from_a_terminal_is_announced(home):
    fresh(home)
    code, out = on_terminal(home, "vfs", "put", "a", "f", typed="hello\n\x04")
    assert code == 0 and "reading from standard input; Ctrl-D" in out, out
    assert home.skep("vfs", "cat", "a", "f").out == "hello\n"
    error = home.skep("vfs", "put", "a", "f", input="from a pipe").err
    assert "standard input" not in error


def test_characters_that_fall_between_two_writes_are_escaped(home):
    home.skep("agent", "add", "a", "--driver", "script")
    text = "\u009b" * 5000 + "€" * 5000
    for pad in range(4):
        home.skep("session", "append", "s%d" % pad, "x" * pad + text)
        code, out = on_terminal(home, "session", "show", "s%d" % pad,
                                "--events", "--json")
        assert "\u009b" not in out
        assert json.loads(out)["body"]["content"] == "x" * pad + text


def test_unknown_words_of_filters_are_refused_with_the_known_ones(home):
    home.skep("agent", "add", "a", "--driver", "script")
    for args, word in ((["ps", "--state", "pending"], "queued"),
                       (["events", "--kind", "runs"], "approval"),
                       (["session", "ls", "--status", "open"], "archived"),
                       (["session", "ls", "--kind", "talk"], "subagent"),
                       (["delivery", "ls", "--state", "open"], "discarded"),
                       (["inbound", "ls", "--state", "open"], "recorded"),
                       (["artifact", "ls", "--class", "x"], "named")):
        error = home.refused(64, *args)
        assert word in error and args[-2] in error, error


def test_an_export_on_a_terminal_is_only_the_export(home):
    home.skep("agent", "add", "a", "--driver", "script")
    for n in range(3):
        home.skep("session", "append", "s", "hello %d" % n)
    code, out = on_terminal(home, "session", "export", "s", columns=2000)
    assert code == 0 and out == home.skep("session", "export", "s").out, out
