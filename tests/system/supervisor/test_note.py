"""Notes of users about runs."""
from skepd_lib import Refused, host


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
