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
    assert "stop skep" in home.refused(74, "up")
    assert not home.control.exists()
    assert host.process.poll() is None
    lib.eventually(lambda: "is missing or was replaced" in host.log(), what="a log line")
    home.skep("down")
    assert host.process.wait(lib.HANG) == 0


def test_no_command_takes_the_name_of_a_control_plane_in_use(home):
    """SQLite deletes the log beside an empty file: everything that was
    acknowledged since the last checkpoint was in it."""
    host = skepd_lib.Host(home).start()
    for i in range(5):
        host.script("a%d" % i, {"event": {"type": "note"}})
    output = home.dir / "aside.sqlite"
    log = os.stat(str(home.control) + "-wal")
    os.rename(home.control, output)
    for words in (("agent", "add", "b", "--driver", "script"),
                  ("run", "a0", "x"), ("agent", "ls"), ("status",),
                  ("channel", "add", "f", "file")):
        assert "skep.sqlite was deleted or replaced" in home.refused(
            74, *words), words
        assert not home.control.exists(), words
    home.skep("doctor", "--fix", code=None)
    assert not home.control.exists()
    assert os.path.samestat(log, os.stat(str(home.control) + "-wal"))
    os.rename(output, home.control)
    host.kill()
    host.start()
    assert {"a%d" % i for i in range(5)} <= {
        a["name"] for a in host.call("GET", "/v1/agents")["items"]}
    assert host.down() == 0


def test_a_control_plane_that_comes_back_is_used_again(home):
    host = skepd_lib.Host(home).start()
    host.script("a", {"event": {"type": "note"}})
    output = home.dir / "aside.sqlite"
    move(home.control, output)
    assert "deleted or replaced" in refused(
        host, "POST", "/v1/runs", {"agent": "a", "prompt": "x"})
    lib.eventually(lambda: "is missing or was replaced" in host.log(), what="a log line")
    move(output, home.control)
    lib.eventually(lambda: "is back at its path" in host.log(),
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
        name, output = str(home.control) + suffix, home.dir / "aside"
        os.rename(name, output)
        why = refused(host, "PUT", "/v1/agents/b", {"driver": "script"})
        assert "skep.sqlite%s was deleted or replaced" % suffix in why, why
        os.rename(output, name)
        lib.eventually(lambda: not refused(
            host, "PUT", "/v1/agents/b", {"driver": "script"}),
            what="the file is back at its path")
    os.unlink(str(home.agent_db("a")) + "-shm")
    host.call("POST", "/v1/runs/%s/messages" % run, {"text": "hello"})
    row = host.until(run, *skepd_lib.OVER)
    assert row["state"] == "failed", row
    assert "agent.sqlite-shm was deleted or replaced" in (row["detail"] or ""), row
    assert host.down() == 0


def test_a_run_stays_reachable_while_the_control_plane_comes_and_goes(home):
    """skepd reads the active runs again 200 ms after the file is back; in the
    meantime the file may be lost again."""
    host = skepd_lib.Host(home).start()
    host.script("a", {"sleep_ms": 600000})
    run = host.submit("a")
    host.until(run, "running")
    name, output = str(home.control) + "-shm", home.dir / "aside"
    for _ in range(4):
        os.rename(name, output)
        assert refused(host, "PUT", "/v1/agents/b", {"driver": "script"})
        os.rename(output, name)
        lib.eventually(lambda: not refused(
            host, "PUT", "/v1/agents/b", {"driver": "script"}),
            what="the file is back at its path")
        host.call("POST", "/v1/runs/%s/messages" % run, {"text": "hello"})
    host.call("POST", "/v1/runs/%s/cancel" % run, {})
    assert host.until(run)["state"] == "cancelled"
    assert host.down() == 0
    host.check_books()


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


LOSSES = [(suffix, how) for suffix in ("", "-wal", "-shm")
          for how in ("deleted", "replaced")]


def lose(path, how):
    """Deleted, or replaced: a database by a copy, the others by empty files."""
    content = open(path, "rb").read() if path.endswith(".sqlite") else b""
    os.unlink(path)
    if how != "deleted":
        with open(path, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(content)


def findings(home):
    r = home.skep("doctor", "--quick", "--no-import", "--json", code=None)
    lost = {}  # several processes may have one file open: a finding each
    for f in r.lines:
        if f["finding"] == "file_lost":
            lost[f["subject"]] = lost.get(f["subject"], "") + f["what"] + "\n"
    return lost


def lose_of_control(home, suffix, how):
    """One supervisor, one loss: what each command says about it."""
    host = skepd_lib.Host(home).start()
    host.script("a-%s" % (suffix + how), {"event": {"type": "note"}})
    lost = str(home.control) + suffix
    words = "%s was deleted or replaced while it was in use" % lost
    lose(lost, how)
    status = home.skep("status", "--json", code=74)
    assert words in status.err and words in status.json["lost"], status.err
    for command in (("ps",), ("ps", "--all"), ("run", "a-" + suffix + how, "x")):
        assert words in home.refused(74, *command), command
    assert "process %d (skepd)" % host.process.pid in findings(home)[lost]
    if not suffix:  # the next supervisor would begin with another file
        assert words in home.refused(74, "restart")
        assert host.process.poll() is None
    home.skep("down")
    assert host.process.wait(lib.HANG) == 0
    return host


def test_each_command_names_a_lost_file_and_down_stops(home):
    """Nothing of a lost log or index is lost: its content is saved."""
    agents = 0
    for suffix, how in LOSSES:
        host = lose_of_control(home, suffix, how)
        if not suffix:
            for rest in ("", "-wal", "-shm"):
                lib.pathlib.Path(str(home.control) + rest).unlink(
                    missing_ok=True)
            continue
        agents += 1
        host.start()
        assert agents == len([a for a in host.call("GET", "/v1/agents")["items"]
                              if a["name"].startswith("a-")])
        assert host.down() == 0
    home.integrity()


def test_a_lost_log_is_saved_before_a_supervisor_is_killed(home):
    host = skepd_lib.Host(home).start()
    host.script("kept", {"event": {"type": "note"}})
    os.unlink(str(home.control) + "-wal")
    lib.eventually(lambda: "the deleted WAL was saved" in host.log(),
                   what="a log line")
    host.kill()
    host.start()
    assert host.call("GET", "/v1/agents/kept")["name"] == "kept"
    assert host.down() == 0
    home.integrity()


def test_a_supervisor_without_its_socket_can_be_stopped(home):
    """It is found by the lock of the home."""
    home.skep("up")
    pid = home.skep("status", "--json").json["pid"]
    os.unlink(home.path / "run" / "skep.sock")
    error = home.skep("down", "--now").err
    assert "active runs were not stopped" in error, error
    assert not os.path.exists("/proc/%d" % pid)
    assert "no supervisor" in home.refused(69, "status")


def test_an_active_runs_lost_file_is_named(home):
    """By doctor and by commands that need the file; the supervisor goes on,
    and what was acknowledged before stays."""
    host = skepd_lib.Host(home).start()
    for suffix, how in LOSSES[1::2] + LOSSES[2:3]:
        name = "a" + (suffix + how).replace("-", "")
        host.script(name, {"await_message": True})
        host.until(host.submit(name), "running")
        home.skep("session", "append", "s", "before", "--agent", name)
        lost = str(home.agent_db(name)) + suffix
        lose(lost, how)
        assert "(skep-worker) has it open" in findings(home)[lost], lost
        later = home.skep("session", "append", "s", "later", "--agent", name,
                          code=None)
        assert "disk I/O error" not in later.err, later.err
        if suffix == "-wal":
            assert "%s was deleted or replaced" % lost in later.err, later.err
        home.skep("status")
        for run in host.call("GET", "/v1/runs?agent=" + name)["items"]:
            host.call("POST", "/v1/runs/%s/cancel" % run["id"], {})
            host.until(run["id"])
        if suffix:
            # skepd may open the file once more, for the end of the run
            output = lib.eventually(lambda: not findings(home) and home.skep(
                "session", "export", "s", "--agent", name, code=None).out,
                what="the last close")
            assert "before" in output, output
            assert ("later" in output) == (later.code == 0), output
    assert host.down() == 0
