"""What a run has to leave behind: worker/run/outputs.h."""
import web_lib


def finished(home, shell, contract, state="failed"):
    """Runs a command to its end; the run, and names and sizes of what it left."""
    d = web_lib.Skepd(home)
    d.agent("a", driver="exec", artifacts=contract,
            config={"shell": shell, "stdin": "none"})
    run = d.wait(d.run(agent="a", session="s"), state)
    left = {r["name"]: r["size"] for r in
            home.skep("artifact", "ls", "--agent", "a", "--json").lines}
    return run, left


def test_what_is_required_and_made_is_kept(home):
    run, left = finished(home, "mkdir out; echo hello > out/report.md; "
                         "echo note > notes.md",
                         {"required": ["out/report.md"],
                          "keep": ["notes.md", "absent.md"]}, "succeeded")
    assert run["reason"] == "completed"
    assert left == {"out/report.md": 6, "notes.md": 5}


def test_a_missing_file_fails_the_run_whatever_the_exit_code(home):
    run, _ = finished(home, "echo fine; exit 0", {"required": ["report.md"]})
    assert run["reason"] == "artifact_missing"
    assert "report.md" in run["detail"]


def test_a_run_that_failed_keeps_its_own_reason(home):
    run, left = finished(home, "echo x > a.txt; exit 3",
                         {"required": ["b.txt"], "keep": ["a.txt"]})
    assert run["reason"] == "exit_code"
    assert left == {"a.txt": 2}


def test_a_path_that_leads_out_is_refused(home):
    run, left = finished(home, "ln -s /etc/passwd report.md",
                         {"required": ["report.md"]})
    assert run["reason"] == "artifact_missing"
    assert "leads outside" in run["detail"]
    assert left == {}
