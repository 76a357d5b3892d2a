"""Notes of users about runs."""
import pathlib
import sqlite3

from skepd_lib import Host, Refused, host

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
OLD_RUN = "run_01hf7yat000000000000000001"


def refusal(h, run, body):
    try:
        h.call("POST", "/v1/runs/%s/note" % run, body)
    except Refused as r:
        return r.status
    return None


def test_a_note_is_set_shown_and_removed(home):
    h = host(home)
    h.script("ada")
    run = h.submit("ada")
    h.until(run, "succeeded")
    assert h.get(run)["note"] is None
    assert "note set" in home.skep("note", run, "look: ümlaut\nand a line").out
    assert h.get(run)["note"] == "look: ümlaut\nand a line"
    assert home.skep("show", run, "--json").out.splitlines()[0].count('"note":"look: ')
    assert "ümlaut" in home.skep("show", run).out
    h.down()
    h.start()
    assert h.get(run)["note"] == "look: ümlaut\nand a line"
    assert "note removed" in home.skep("note", run, "").out
    assert h.get(run)["note"] is None
    h.down()


def test_a_wrong_note_changes_nothing(home):
    h = host(home)
    h.script("ada")
    run = h.submit("ada")
    home.skep("note", run, "kept")
    assert refusal(h, run, {}) == 422
    assert refusal(h, run, {"text": None}) == 422
    assert refusal(h, run, {"text": "x" * 65537}) == 413
    assert refusal(h, "run_" + "0" * 26, {"text": "x"}) == 404
    assert "there is no run" in home.refused(66, "note", "run_" + "0" * 26, "x")
    assert h.get(run)["note"] == "kept"
    h.down()


def test_a_home_of_the_first_version_gets_notes(home):
    home.path.mkdir(mode=0o700)
    (home.path / "state").mkdir(mode=0o700)
    db = sqlite3.connect(home.control)
    db.executescript((FIXTURES / "control-v1.sql").read_text())
    db.close()
    h = Host(home).start()
    assert home.query(home.control, "PRAGMA user_version") >= [(2,)]
    assert h.get(OLD_RUN)["state"] == "succeeded"
    home.skep("note", OLD_RUN, "from before")
    assert h.get(OLD_RUN)["note"] == "from before"
    h.down()
    home.integrity()
