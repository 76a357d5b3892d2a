"""A workspace is made ready once, by where it really is."""
import os

from lib import eventually, skip
from worker_lib import Supervisor, Worker, failed, ok

READY = {"files": {"AGENTS.md": "be kind\n", "notes/first.md": "1\n"},
         "shell": "echo ran >> count"}


class Runs:
    def __init__(self, home, **more):
        self.sup, self.more, self.n = Supervisor(home), more, 0

    def start(self, text, **more):
        self.n += 1
        return Worker(self.sup, "exec", {"shell": text}, n=self.n,
                      **{"bootstrap": READY, **self.more, **more})

    def says(self, text, **more):
        w = self.start(text, **more)
        before = len(w.events("output")) if os.path.exists(w.db) else 0
        ok(w)
        return [b["text"] for _, b in w.events("output")][before:]


def test_a_directory_is_made_ready_once_and_again_when_moved(home):
    work = home.dir / "work"
    work.mkdir()
    runs = Runs(home, workspace=str(work))
    see = "cat count AGENTS.md notes/first.md"
    assert runs.says(see) == ["ran", "be kind", "1"]
    assert runs.says(see) == ["ran", "be kind", "1"]
    (home.dir / "link").symlink_to(work)
    assert runs.says(see, workspace=str(home.dir / "link")) == [
        "ran", "be kind", "1"]  # another way to the same place
    (work / "AGENTS.md").write_text("mine\n")
    work.rename(home.dir / "moved")
    assert runs.says(see, workspace=str(home.dir / "moved")) == [
        "ran", "ran", "mine", "1"]  # what is there is left alone
    assert len(home.query(home.agent_db("a"),
                          "SELECT * FROM workspace_setup")) == 2


def test_a_namespace_is_made_ready_once_and_again_when_made_anew(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("there is no /dev/fuse")
    runs = Runs(home, workspace_mode="vfs-only", workspace=None)
    assert runs.says("cat count AGENTS.md") == ["ran", "be kind"]
    assert runs.says("cat count AGENTS.md") == ["ran", "be kind"]
    home.execute(home.agent_db("a"), "UPDATE vfs_ns SET made_at = made_at + 1")
    assert runs.says("cat count") == ["ran", "ran"]


def test_one_that_fails_ends_the_run_and_is_tried_again(home):
    work = home.dir / "work"
    work.mkdir()
    runs = Runs(home, workspace=str(work))
    bad = {"shell": "echo begun >> count; echo no such thing >&2; exit 3"}
    failed(runs.start("true", bootstrap=bad), "workspace",
           "status 3: no such thing")
    assert runs.says("cat count") == ["begun", "ran"]


def test_of_two_runs_at_once_one_does_it_and_the_other_waits(home):
    work = home.dir / "work"
    work.mkdir()
    runs = Runs(home, workspace=str(work),
                bootstrap={"shell": "echo ran >> count; sleep 0.5; "
                           "echo done >> count"})
    both = [runs.start("cat count", session=s) for s in ("x", "y")]
    for _ in both:
        assert runs.sup.wait("finished")["outcome"] == "succeeded"
    assert (work / "count").read_text() == "ran\ndone\n"
    assert [b["text"] for _, b in both[0].events("output")] == [
        "ran", "done", "ran", "done"]


def test_a_killed_one_is_done_by_the_next_run(home):
    work = home.dir / "work"
    work.mkdir()
    runs = Runs(home, workspace=str(work))
    w = runs.start("true", bootstrap={"shell": "touch begun; sleep 60"})
    eventually(lambda: (work / "begun").exists())
    w.process.kill()
    w.process.wait()
    assert runs.says("cat count") == ["ran"]


def test_a_file_outside_of_the_workspace_is_refused(home):
    work = home.dir / "work"
    work.mkdir()
    (work / "out").symlink_to(home.dir)
    runs = Runs(home, workspace=str(work))
    for path in ("../x", "/etc/x", "a/../../x", "out/x"):
        m = runs.start("true", bootstrap={"files": {path: "x"}}).finished()
        assert m["outcome"] == "failed", (path, m)
        assert "bootstrap" in m["detail"], m
    assert not (home.dir / "x").exists()
    failed(runs.start("true", bootstrap={"shel": "x"}), "bad_config", "shel")
