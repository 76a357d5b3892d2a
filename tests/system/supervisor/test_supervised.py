"""The same commands while a supervisor runs: it writes the control plane."""
import signal

import lib


def up(home):
    log = open(home.dir / "skepd.log", "ab")
    p = home.start(home.bin / "skepd", stdout=log, stderr=log)
    lib.eventually(lambda: (home.path / "run" / "skep.sock").exists() or
                   p.poll() is not None, what="skepd")
    assert p.poll() is None, (home.dir / "skepd.log").read_text()
    return p


def test_agents_are_changed_through_the_supervisor(home):
    home.skep("agent", "add", "first", "--driver", "script")
    up(home)
    r = home.skep("agent", "add", "a", "--driver", "exec", "--set",
                  'config.command=["true"]', "--set", "x-odd=1", "--json").json
    assert r["version"] == 1 and not r["is_default"]
    r = home.skep("agent", "set", "a", "--model", "m", "--unset", "x-odd",
                  "--default", "--json").json
    assert (r["version"], r["model"], r["is_default"]) == (2, "m", True)
    assert r["spec"] == {"config": {"command": ["true"]}}
    r = home.skep("agent", "set", "a", "--model", "m", "--json").json
    assert r["version"] == 2
    assert [x["name"] for x in home.skep("agent", "ls", "--json").lines
            if x["is_default"]] == ["a"]
    home.skep("agent", "rm", "a")
    home.refused(66, "agent", "show", "a")
    home.refused(66, "agent", "rm", "a")
    acts = home.query(home.control, "SELECT act, subject, actor FROM audit")
    assert [a[:2] for a in acts] == [
        ("agent.add", "first"), ("agent.add", "a"), ("agent.set", "a"),
        ("agent.rm", "a")]
    assert acts[1][2] != acts[0][2], acts


def test_command_and_supervisor_agree_on_versions(home):
    home.skep("agent", "add", "a", "--driver", "script", "--prompt", "p",
              "--set", "x-list=[1,2]")
    p = up(home)
    assert home.skep("agent", "set", "a", "--prompt", "p",
                     "--json").json["version"] == 1
    p.send_signal(signal.SIGTERM)
    p.wait(lib.HANG)
    assert home.skep("agent", "set", "a", "--prompt", "p",
                     "--json").json["version"] == 1


def test_wrong_definitions_are_refused_by_the_supervisor_too(home):
    home.skep("agent", "add", "a", "--driver", "script")
    up(home)
    error = home.refused(65, "agent", "set", "a", "--set",
                        'config.endpoint={"api_key":"sk-1"}')
    assert "credentials/" in error
    assert home.skep("agent", "show", "a", "--json").json["version"] == 1


def test_a_file_is_made_by_the_supervisor(home):
    home.skep("agent", "add", "a", "--driver", "script")
    up(home)
    home.skep("session", "append", "s", "hello")
    assert home.query(home.control, "SELECT agent FROM agent_database") == \
        [("a",)]
    home.skep("artifact", "put", "-", "n", "--owner", "o", input="x")
    home.skep("session", "fork", "s", "f")
    assert len(home.skep("session", "ls", "--json").lines) == 2
    assert "zed" in home.refused(66, "session", "append", "s", "x",
                                 "--agent", "zed")


def test_an_agents_file_is_moved_and_purged_through_the_supervisor(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("session", "append", "s", "x")
    up(home)
    there = home.dir / "elsewhere.sqlite"
    home.refused(66, "agent", "set", "a", "--file", there)
    home.skep("session", "append", "s", "y")  # readers of the supervisor's
    home.agent_db("a").rename(there)
    for end in ("-wal", "-shm"):
        home.agent_db("a").with_name("agent.sqlite" + end).unlink(True)
    home.skep("agent", "set", "a", "--file", "elsewhere.sqlite", cwd=home.dir)
    assert home.query(home.control, "SELECT path FROM agent_database") == \
        [(str(there),)]
    assert home.skep("session", "ls", "--json").json["events"] == 2
    (home.dir / "junk").write_text("no database")
    home.refused(65, "agent", "set", "a", "--file", home.dir / "junk")
    home.skep("agent", "rm", "a", "--purge")
    assert not there.exists() and not home.agent_db("a").parent.exists()
    assert home.query(home.control, "SELECT count(*) FROM agent_database") == \
        [(0,)]
    home.refused(66, "agent", "rm", "a", "--purge")
    assert [a for a, in home.query(home.control, "SELECT act FROM audit")] == [
        "agent.add", "agent.file", "agent.rm", "agent.purge"]


def test_an_agent_with_an_active_run_keeps_its_file(home):
    home.skep("agent", "add", "a", "--driver", "script", "--set",
              'config={"steps":[{"sleep_ms":60000}]}')
    up(home)
    run = home.skep("run", "a", "x", "-d").out.strip()
    lib.eventually(lambda: home.agent_db("a").exists(), what="the file")
    assert "active runs" in home.refused(65, "agent", "rm", "a", "--purge")
    assert "active runs" in home.refused(65, "agent", "set", "a", "--file",
                                       home.agent_db("a"))
    home.skep("cancel", run, "--wait")
    home.skep("agent", "rm", "a", "--purge")
    assert not home.agent_db("a").exists()


def acts_on_data(home):
    home.skep("session", "append", "s", "x")
    home.skep("session", "export", "s", "--output", home.dir / "s.jsonl")
    home.skep("session", "rm", "s")
    home.skep("session", "import", home.dir / "s.jsonl")
    art = home.skep("artifact", "put", "-", "n", "--owner", "o", "--json",
                    input="x").json["aid"]
    home.skep("artifact", "rm", art)
    rows = home.query(home.control, "SELECT act, subject FROM audit "
                      "WHERE act NOT LIKE 'agent.%' ORDER BY id")
    assert rows[-3:] == [("session.rm", "a/s"), ("session.import", "a/s"),
                         ("artifact.rm", "a/" + art)], rows
    return len(rows)


def test_acts_on_data_are_audited_with_and_without_a_supervisor(home):
    home.skep("agent", "add", "a", "--driver", "script")
    assert acts_on_data(home) == 3
    home.skep("session", "rm", "s")
    up(home)
    assert acts_on_data(home) == 7


PRAGMAS = {"journal_mode": "wal", "synchronous": "full",
           "busy_timeout": 30000, "foreign_keys": True, "secure_delete": False}


def test_skepd_and_the_command_have_the_same_pragmas(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("session", "append", "s", "x")

    def seen():
        return [(r["database"], r["process"], {k: r[k] for k in PRAGMAS})
                for r in home.skep("state", "stats", "--json").lines]
    agent = ("agent", "skep", PRAGMAS)
    assert seen() == [("control", "skep", PRAGMAS), agent]
    up(home)
    assert seen() == [("control", "skep", PRAGMAS),
                      ("control", "skepd", PRAGMAS), agent]
    assert "skepd" in home.skep("state", "stats").out


def test_a_second_supervisor_is_refused(home):
    p = up(home)
    r = home.run(home.bin / "skepd", code=None)
    assert r.code != 0 and str(p.pid) in r.err, r.err


def test_after_kill_9_commands_write_directly_again(home):
    home.skep("agent", "add", "a", "--driver", "script")
    p = up(home)
    p.kill()
    p.wait()
    home.skep("agent", "set", "a", "--model", "m")
    up(home)
    assert home.skep("agent", "show", "a", "--json").json["model"] == "m"
