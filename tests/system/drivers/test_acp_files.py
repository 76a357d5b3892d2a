"""What an ACP agent may ask its client for: files and terminals, in every kind
of workspace."""
import json
import os
import pathlib
import shutil

import lib
from test_acp import acp, texts
from worker_lib import marked, ok


def place(home, mode):
    return str(home.dir / "work") if mode == "disk" else "/mnt/workspace"


def need_mount(mode):
    if mode != "disk" and (not os.access("/dev/fuse", os.R_OK | os.W_OK)
                           or not shutil.which("fusermount3")):
        lib.skip("no FUSE here")


def call(method, **params):
    return {"call": method, "params": params}


def read(path, **more):
    return call("fs/read_text_file", path=path, **more)


def write(path, content):
    return call("fs/write_text_file", path=path, content=content)


def tool_results(w):
    return [json.loads(line) for line in "".join(texts(w)).splitlines()]


def files(home, mode):
    need_mount(mode)
    d = place(home, mode)
    w = acp(home, [
        write(d + "/new/deep/a.txt", "one\ntwo\nthree\nfour\n"),
        read(d + "/new/deep/a.txt"),
        read(d + "/new/deep/a.txt", line=2, limit=2),
        read(d + "/new/deep/a.txt", line=9),
        read(d + "/missing/file.txt"),
        call("terminal/create", command="cat", args=["new/deep/a.txt"]),
        call("terminal/wait_for_exit", terminalId="$last"),
        call("terminal/output", terminalId="$last")], workspace_mode=mode)
    ok(w)
    got = tool_results(w)
    assert got[0] == {}, got
    assert [g["content"] for g in got[1:5]] == [
        "one\ntwo\nthree\nfour\n", "two\nthree\n", "", ""], got
    assert got[6] == {"exitCode": 0, "signal": None}, got
    assert got[7]["output"] == "one\ntwo\nthree\nfour\n", got
    made = home.dir / "work" / "new"
    assert made.exists() == (mode == "disk"), made


def test_files_of_a_directory(home):
    files(home, "disk")


def test_files_of_a_scratch_workspace(home):
    files(home, "vfs-scratch")


def test_files_of_a_workspace_in_the_file(home):
    files(home, "vfs-only")


def test_nothing_outside_is_read_or_written(home):
    (home.dir / "secret").write_text("secret")
    work = home.dir / "work"
    work.mkdir()
    os.symlink(home.dir / "secret", work / "link")
    os.symlink("..", work / "up")
    os.mkfifo(work / "pipe")
    bad = [str(home.dir / "secret"), str(work) + "/../secret",
           str(work) + "/link", str(work) + "/up/secret", "../secret",
           "/etc/passwd", str(home.dir / "worker"), str(work), ""]
    w = acp(home, [read(p) for p in bad + [str(work) + "/pipe"]]
            + [write(p, "x") for p in bad[:-1]]
            + [call("fs/write_text_file", path=str(work / "a"))])
    ok(w)
    assert all("code" in g for g in tool_results(w)), tool_results(w)
    assert (home.dir / "secret").read_text() == "secret"
    assert not (home.dir / "worker").exists()


def test_a_rule_that_denies_wins_over_a_direct_request(home):
    d = place(home, "disk")
    w = acp(home, [write(d + "/a.lock", "x"), write(d + "/a.txt", "x"),
                   read(d + "/key.pem"),
                   call("terminal/create", command="sudo", args=["ls"])],
            config={"permissions": {"allow": ["edit"],
                                    "deny": ["edit:*.lock", "read:*.pem",
                                             "execute:sudo *"]}})
    ok(w)
    got = tool_results(w)
    assert "denies" in got[0]["message"] and got[1] == {}, got
    assert "denies" in got[2]["message"] and "denies" in got[3]["message"], got


def test_a_terminal_keeps_the_end_of_its_output_and_can_be_killed(home):
    mark = "98%d.5" % os.getpid()
    w = acp(home, [
        call("terminal/create", command="sh", args=[
            "-c", "printf 'aäbö'; echo err >&2; exit 3"], outputByteLimit=6,
            env=[{"name": "X", "value": "1"}]),
        call("terminal/wait_for_exit", terminalId="$last"),
        call("terminal/output", terminalId="$last"),
        call("terminal/release", terminalId="$last"),
        call("terminal/output", terminalId="$last"),
        call("terminal/create", command="sh", args=[
            "-c", "yes; sleep " + mark]),
        call("terminal/kill", terminalId="$last"),
        call("terminal/wait_for_exit", terminalId="$last"),
        call("terminal/create", command="no-such-command"),
        call("terminal/create", command="sleep", args=[mark])])
    ok(w)
    got = tool_results(w)
    assert got[1] == {"exitCode": 3, "signal": None}, got
    assert got[2]["truncated"] and len(got[2]["output"].encode()) <= 6, got
    assert got[2]["exitStatus"]["exitCode"] == 3
    assert got[3] == {} and got[4]["code"] == -32002, got
    assert got[7] == {"exitCode": None, "signal": "SIGKILL"}, got
    assert "command" in got[8]["message"], got
    stored = [b for _, b in w.events("tool_result")]
    assert stored[0]["command"].startswith("sh -c") and len(stored) == 3
    assert not marked(mark), "processes are left"


def test_an_agent_in_a_vfs_cannot_write_to_the_host(home):
    need_mount("vfs-only")
    work = home.dir / "work"
    work.mkdir()
    (work / "old.txt").write_text("old")
    w = acp(home, [
        call("terminal/create", command="sh", args=[
            "-c", "echo new > old.txt; echo x > made.txt; cat old.txt"]),
        call("terminal/wait_for_exit", terminalId="$last"),
        call("terminal/output", terminalId="$last")],
        workspace_mode="vfs-scratch")
    ok(w)
    assert tool_results(w)[2]["output"] == "new\n", tool_results(w)
    assert (work / "old.txt").read_text() == "old"
    assert sorted(p.name for p in pathlib.Path(work).iterdir()) == ["old.txt"]
