"""A database file that is deleted or replaced while it is in use."""
import os

import lib
import skepd_lib


def refused(host, method, path, body):
    try:
        host.call(method, path, body)
    except skepd_lib.Refused as e:
        return str(e)
    return None


def move(path, to):
    """A database and what belongs to it."""
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(str(path) + suffix):
            os.rename(str(path) + suffix, str(to) + suffix)


def test_nothing_is_acknowledged_into_a_deleted_control_plane(home):
    host = skepd_lib.Host(home).start()
    host.script("a", {"sleep_ms": 600000})
    run = host.submit("a")
    host.until(run, "running")
    for suffix in ("", "-wal", "-shm"):
        os.unlink(str(home.control) + suffix)
    why = refused(host, "POST", "/v1/runs", {"agent": "a", "prompt": "x"})
    assert "skep.sqlite was deleted or replaced" in why, why
    assert "deleted or replaced" in refused(host, "PUT", "/v1/agents/b",
                                            {"driver": "script"})
    # neither a second supervisor, nor a new control plane beside the old one
    assert "skep down" in home.refused(65, "up")
    assert not home.control.exists()
    assert host.process.poll() is None
    lib.eventually(lambda: "not in its place" in host.log(), what="a log line")
    home.skep("down")
    assert host.process.wait(60) == 0


def test_no_command_takes_the_name_of_a_control_plane_in_use(home):
    """SQLite deletes the log beside an empty file: everything that was
    acknowledged since the last checkpoint was in it."""
    host = skepd_lib.Host(home).start()
    for i in range(5):
        host.script("a%d" % i, {"event": {"type": "note"}})
    aside = home.dir / "aside.sqlite"
    log = os.stat(str(home.control) + "-wal")
    os.rename(home.control, aside)
    for words in (("agent", "add", "b", "--driver", "script"),
                  ("run", "a0", "x"), ("agent", "ls"), ("status",),
                  ("channel", "add", "f", "file")):
        assert "deleted or replaced" in home.refused(65, *words), words
        assert not home.control.exists(), words
    home.skep("doctor", "--fix", code=None)
    assert not home.control.exists()
    assert os.path.samestat(log, os.stat(str(home.control) + "-wal"))
    os.rename(aside, home.control)
    host.kill()
    host.start()
    assert {"a%d" % i for i in range(5)} <= {
        a["name"] for a in host.call("GET", "/v1/agents")["items"]}
    assert host.down() == 0


def test_a_control_plane_that_comes_back_is_used_again(home):
    host = skepd_lib.Host(home).start()
    host.script("a", {"event": {"type": "note"}})
    aside = home.dir / "aside.sqlite"
    move(home.control, aside)
    assert "deleted or replaced" in refused(
        host, "POST", "/v1/runs", {"agent": "a", "prompt": "x"})
    lib.eventually(lambda: "not in its place" in host.log(), what="a log line")
    move(aside, home.control)
    lib.eventually(lambda: "in its place again" in host.log(),
                   what="a log line")
    assert host.until(host.submit("a"))["state"] == "succeeded"
    assert host.down() == 0
    host.check_books()


def test_a_log_or_an_index_that_is_lost_alone_is_noticed(home):
    """Of the control plane by skepd, of an agent's file by its worker."""
    host = skepd_lib.Host(home).start()
    host.script("a", {"await_message": True})
    run = host.submit("a")
    host.until(run, "running")
    for suffix in ("-wal", "-shm"):
        name, aside = str(home.control) + suffix, home.dir / "aside"
        os.rename(name, aside)
        why = refused(host, "PUT", "/v1/agents/b", {"driver": "script"})
        assert "skep.sqlite%s was deleted or replaced" % suffix in why, why
        os.rename(aside, name)
        lib.eventually(lambda: not refused(
            host, "PUT", "/v1/agents/b", {"driver": "script"}),
            what="the file in its place again")
    os.unlink(str(home.agent_db("a")) + "-shm")
    host.call("POST", "/v1/runs/%s/messages" % run, {"text": "hello"})
    row = host.until(run, *skepd_lib.OVER)
    assert row["state"] == "failed", row
    assert "agent.sqlite-shm was deleted or replaced" in (row["detail"] or ""), row
    assert host.down() == 0


def test_a_second_supervisor_needs_no_database_to_be_refused(home):
    host = skepd_lib.Host(home).start()
    move(home.control, home.dir / "aside.sqlite")
    r = home.run(home.bin / "skepd", code=75)
    assert "another supervisor" in r.err, r.err
    assert not home.control.exists()
    move(home.dir / "aside.sqlite", home.control)
    host.kill()
    host.start()  # the lock of one that was killed is free
    assert host.down() == 0


def test_nothing_is_acknowledged_into_a_deleted_agent_file(home):
    host = skepd_lib.Host(home).start()
    host.script("a", {"event": {"type": "note"}, "repeat": 100000,
                      "every_ms": 20})
    run = host.submit("a", session="s", max_attempts=1)
    host.until(run, "running")
    lib.eventually(lambda: len(host.events("a", run)) > 5, what="events")
    move(home.agent_db("a"), home.dir / "aside.sqlite")
    row = host.until(run)
    assert row["state"] == "failed", row
    assert "deleted or replaced" in (row["detail"] or ""), row
    assert refused(host, "PATCH", "/v1/sessions/a/s", {"title": "t"})
    assert not home.agent_db("a").exists()
    move(home.dir / "aside.sqlite", home.agent_db("a"))
    assert host.call("PATCH", "/v1/sessions/a/s", {"title": "t"})
    assert host.down() == 0
    home.integrity()
