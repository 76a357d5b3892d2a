"""Experiments: runs from one starting point, their comparison, and the choice
of one of them."""
import html.parser
import itertools
import json
import statistics

import chat_mock
import lib
import workspace_lib
from skepd_lib import Refused, host

OPEN = ("preparing", "running", "picking", "dropping")
# Each run leaves its seed, and deletes a file of the start.
WORK = 'echo "seed $SKEP_SEED" > answer; rm -f old; test "$SKEP_SEED" != 2'


def fill(home, agent="bot"):
    for path, text in (("old", "old\n"), ("both", "start\n"), ("d/deep", "x\n")):
        home.skep("vfs", "put", agent, path, "--parents", input=text)


def start(home, shell=WORK, agents=("bot",)):
    h = host(home)
    for name in agents:
        h.shell(name, shell, workspace="vfs-only")
    fill(home, agents[0])
    return h


def wait(h, exp, *states):
    def check():
        row = h.call("GET", "/v1/experiments/" + exp)
        return row["state"] not in OPEN and row
    row = lib.eventually(check, lib.HANG, "the end of " + exp)
    assert not states or row["state"] in states, (row, h.log()[-3000:])
    return row


def trials(h, exp):
    return h.call("GET", "/v1/experiments/%s/trials" % exp)["items"]


def begin(h, **more):
    body = {"agent": "bot", "variants": [{"agent": "bot", "prompt": "go"}]}
    body.update(more)
    return h.call("POST", "/v1/experiments", body)["id"]


def names(home, agent="bot"):
    return [r["name"] for r in home.skep("namespace", "ls", agent, "--json").lines]


def cat(home, path, space="bot"):
    return home.skep("vfs", "cat", space, path, code=None).out


def refusal(h, path, body):
    try:
        h.call("POST", path, body)
    except Refused as r:
        return r.status
    return None


def test_the_command_starts_compares_and_picks(home):
    h = start(home)
    out = home.skep("try", "bot", "do it", "--runs", "3", "--check",
                    "grep 3 answer").out
    exp = out.split(":")[0]
    assert "3 of 3 trials done" in out, out
    rows = trials(h, exp)
    assert [(t["outcome"], t["seed"], t["files_changed"]) for t in rows] == [
        ("succeeded", 1, 2), ("failed", 2, 2), ("succeeded", 3, 2)], rows
    assert [(t["check_outcome"], t["check_exit"]) for t in rows] == [
        ("failed", 1), (None, None), ("succeeded", 0)], rows
    assert len({t["fork"] for t in rows}) == 3
    assert home.skep("logs", rows[2]["check_run"]).out.count("seed 3") == 1
    assert home.skep("try", "diff", exp, "3").out == "A answer\nD old\n"
    assert home.skep("try", "diff", exp, "1", "3").out == "M answer\n"
    for flag in "-u", "-p":
        assert "-seed 1\n+seed 3\n" in home.skep("try", "diff", exp, "1", "3", flag).out
        assert "+seed 3\n" in home.skep("diff", rows[2]["run"], flag).out
    assert cat(home, "old") == "old\n"
    out = home.skep("try", "pick", exp, "3").out
    assert "2 changes of trial 3 merged into bot:main" in out, out
    assert cat(home, "answer") == "seed 3\n" and cat(home, "old") == ""
    assert names(home) == ["main"]
    assert home.skep("snapshot", "ls", "bot", "--json").lines == []
    row = home.skep("try", "ls", "--json").lines[0]
    assert (row["state"], row["picked"], row["passed"]) == ("picked", 3, 1), row
    assert home.skep("try", "show", exp, "--json").lines[3]["check_exit"] == 0
    h.down()
    home.integrity()


def test_a_change_of_the_source_is_a_conflict_until_a_strategy_is_given(home):
    h = start(home, "echo $SKEP_SEED > both; echo n > new")
    exp = begin(h, runs=2)
    home.skep("vfs", "put", "bot", "both", input="mine\n")
    wait(h, exp, "done")
    r = home.skep("try", "pick", exp, "2", code=65)
    assert "both  (conflict)" in r.out and "trial 2 was not merged" in r.err, r
    assert "1 path changed on both sides" in r.err, r.err
    assert "--strategy" in r.err and "--theirs PATH" in r.err, r.err
    assert cat(home, "both") == "mine\n" and cat(home, "new") == ""
    assert len(names(home)) == 3
    home.skep("try", "pick", exp, "2", "-X", "ours", "--keep")
    assert cat(home, "both") == "mine\n" and cat(home, "new") == "n\n"
    assert len(names(home)) == 3
    home.skep("try", "pick", exp, "1", "--strategy", "theirs")
    assert cat(home, "both") == "1\n"
    assert names(home) == ["main"]
    h.down()


def test_conflicts_are_resolved_for_single_paths(home):
    h = start(home, "for f in both d/deep old; do echo $SKEP_SEED > $f; done")
    exp = begin(h, runs=1)
    wait(h, exp, "done")
    for path in "both", "d/deep", "old":
        home.skep("vfs", "put", "bot", path, input="mine\n")
    r = home.skep("try", "pick", exp, "1", "--theirs", "d", "--ours", "both", code=65)
    assert r.out.count("(conflict)") == 3 and "1 path changed" in r.err, r.err
    assert cat(home, "d/deep") == "mine\n"
    h.call("POST", "/v1/experiments/%s/pick" % exp, {
        "trial": 1, "theirs": ["/d/"], "ours": ["both", "old"], "keep": True})
    wait(h, exp, "picked")
    assert [cat(home, p) for p in ("both", "d/deep", "old")] == [
        "mine\n", "1\n", "mine\n"]
    h.down()


def test_a_merge_that_fails_keeps_the_record_of_the_earlier_one(home):
    h = start(home, "echo $SKEP_SEED > both")
    exp = begin(h, runs=2)
    wait(h, exp, "done")
    home.skep("try", "pick", exp, "1", "--keep")
    before = wait(h, exp, "picked")
    assert (before["picked"], before["merged"]) == (1, 1), before
    home.skep("try", "pick", exp, "2", code=65)
    after = wait(h, exp, "picked")
    assert "changed on both sides" in after.pop("detail"), after
    assert after.pop("conflicts") == ["both"], after
    assert after == {k: v for k, v in before.items()
                     if k not in ("detail", "conflicts")} | {
                         "pick_keeps": False}, after
    home.skep("try", "pick", exp, "2", "-X", "theirs")
    row = wait(h, exp, "picked")
    assert (row["picked"], row["detail"], row["strategy"]) == (2, None, "theirs"), row
    assert cat(home, "both") == "2\n"
    h.down()


def test_an_experiment_whose_runs_all_fail_says_why_and_fails(home):
    h = start(home, 'test "$SKEP_SEED" = 3 && exit 4; exit 3')
    (home.dir / "m.json").write_text(json.dumps({"prompts": ["a", "b"], "runs": 3}))
    r = home.skep("try", "bot", "--matrix", home.dir / "m.json", code=1)
    assert "trial 1, 2, 3, 4: the command ended with code 3" in r.out, r.out
    assert "trial 5, 6: the command ended with code 4" in r.out, r.out
    assert "no trial of exp_" in r.err and "skep logs" in r.err, r.err
    exp = r.out.split(":")[0]
    assert "code 3" in home.skep("try", "show", exp).out
    home.skep("try", "resume", exp, code=1)
    h.down()


def test_the_seed_of_a_trial_reaches_the_model(home):
    h = host(home)
    mock = workspace_lib.chat_agent(h, home, replies=[chat_mock.text("done")])
    for config, seeds in (({}, [5, 6]), ({"params": {"seed": 1, "top_p": 1}}, [1, 1]),
                          ({"params": {"seed": None}}, [None, None]),
                          ({"api": "responses"}, [None, None])):
        mock.asked.clear()
        exp = begin(h, runs=2, seed=5, variants=[
            {"agent": "bot", "prompt": "go", "config": config}])
        wait(h, exp, "done")
        asked = sorted([body.get("seed") for _, _, body in mock.asked], key=str)
        assert asked == seeds, (config, asked)
        assert seeds[0] or all("seed" not in body for _, _, body in mock.asked)
    h.down()


def test_all_trials_start_from_the_same_snapshot(home):
    h = start(home, "cat both > seen; sleep 0.3")
    home.skep("snapshot", "create", "bot", "then")
    home.skep("vfs", "put", "bot", "both", input="later\n")
    exp = begin(h, runs=2, **{"from": "main@then"})
    home.skep("vfs", "put", "bot", "both", input="now\n")
    wait(h, exp, "done")
    for t in trials(h, exp):
        assert cat(home, "seen", "bot:" + t["fork"]) == "start\n"
    exp = begin(h, runs=2)
    wait(h, exp, "done")
    assert {cat(home, "seen", "bot:" + t["fork"]) for t in trials(h, exp)} == {
        "now\n"}
    home.skep("try", "drop", exp, "--yes")
    assert [r["name"] for r in home.skep("snapshot", "ls", "bot", "--json").lines
            ] == ["then"]
    h.down()


def test_failed_trials_are_resumed_and_more_are_added(home):
    h = start(home, 'test "$SKEP_SEED" != 2 -o -e ok || exit 3; echo > made')
    exp = begin(h, runs=2)
    wait(h, exp, "done")
    assert [t["outcome"] for t in trials(h, exp)] == ["succeeded", "failed"]
    h.shell("bot", "echo > made", workspace="vfs-only")
    home.skep("try", "resume", exp)
    rows = trials(h, exp)
    assert [(t["outcome"], t["attempt"]) for t in rows] == [
        ("succeeded", 1), ("succeeded", 2)], rows
    assert len(names(home)) == 3, names(home)
    out = home.skep("try", "extend", exp, "--runs", "2").out
    assert "4 of 4 trials done" in out, out
    assert [t["seed"] for t in trials(h, exp)] == [1, 2, 3, 4]
    home.skep("try", "drop", exp, "--yes")
    assert names(home) == ["main"]
    assert home.skep("try", "show", exp).out.count("succeeded") == 4
    h.down()


def test_a_matrix_makes_a_variant_of_each_combination(home):
    h = start(home, "cat - > said; echo $MOOD >> said", ("bot",))
    h.agent("bot", "exec", {"shell": "cat > said; echo $MOOD >> said",
                            "stdin": "text"}, workspace="vfs-only")
    (home.dir / "m.json").write_text(json.dumps({
        "prompts": ["one", "two"], "runs": 2, "seed": 7, "check": "true",
        "settings": [{"name": "calm", "config": {"env": {"MOOD": "calm"}}},
                     {"config": {"env": {"MOOD": "wild"}}}]}))
    exp = home.skep("try", "bot", "--matrix", home.dir / "m.json", "-d").out.strip()
    wait(h, exp, "done")
    rows = trials(h, exp)
    assert len(rows) == 8 and {t["seed"] for t in rows} == {7, 8}
    got = {t["name"]: cat(home, "said", "bot:" + t["fork"]) for t in rows}
    assert got == {"bot/p1/calm": "onecalm\n", "bot/p1/s2": "onewild\n",
                   "bot/p2/calm": "twocalm\n", "bot/p2/s2": "twowild\n"}, got
    for bad, why in (({"agent": ["a"]}, "unknown member"), ({"prompts": []}, "empty"),
                     ({"runs": "2"}, "must be a number"),
                     ({"settings": [{"x": 1}], "prompts": ["p"]}, "name and config")):
        (home.dir / "bad.json").write_text(json.dumps(bad))
        assert why in home.refused(None, "try", "bot", "--matrix",
                                   home.dir / "bad.json")
    h.down()


def test_a_wrong_request_changes_nothing(home):
    h = start(home)
    v = [{"agent": "bot", "prompt": "go"}]
    for body, status in (({"agent": "bot"}, 422), ({"agent": "bot", "variants": []}, 422),
                         ({"agent": "no", "variants": v}, 404),
                         ({"agent": "bot", "variants": [{"agent": "no", "prompt": "x"}]}, 404),
                         ({"agent": "bot", "variants": [{"agent": "bot"}]}, 422),
                         ({"agent": "bot", "variants": [{"prompt": "x", "agent": "bot", "y": 1}]}, 422),
                         ({"agent": "bot", "variants": v, "runs": 0}, 422),
                         ({"agent": "bot", "variants": v * 100, "runs": 11}, 422),
                         ({"agent": "bot", "variants": v, "from": "../x"}, 422)):
        assert refusal(h, "/v1/experiments", body) == status, body
    assert home.query(home.control, "SELECT count(*) FROM experiment") == [(0,)]
    for verb in ("drop", "resume"):
        assert refusal(h, "/v1/experiments/none/" + verb, {}) == 404
    exp = begin(h, **{"from": "nowhere"})
    row = wait(h, exp, "failed")
    assert "no namespace nowhere" in row["detail"], row
    h.shell("disk", "true")
    exp = begin(h, agent="disk", variants=[{"agent": "disk", "prompt": "x"}])
    assert "cannot be forked" in wait(h, exp, "failed")["detail"]
    exp = begin(h)
    wait(h, exp, "done")
    assert refusal(h, "/v1/experiments/%s/pick" % exp, {"trial": 9}) == 404
    assert refusal(h, "/v1/experiments/%s/pick" % exp,
                   {"trial": 1, "strategy": "best"}) == 422
    assert "there is no agent" in home.refused(66, "try", "nobody", "x")
    h.down()


def test_dropping_cancels_what_runs(home):
    h = start(home, "sleep 60")
    exp = begin(h, runs=3)
    lib.eventually(lambda: [t for t in trials(h, exp) if t["state"] == "running"],
                   lib.HANG, "a running trial")
    assert refusal(h, "/v1/experiments/%s/pick" % exp, {"trial": 1}) == 409
    home.skep("try", "drop", exp, "-y")
    assert {t["outcome"] for t in trials(h, exp)} <= {"cancelled", None}
    assert names(home) == ["main"]
    h.down()
    h.check_books()


def test_several_agents_and_the_winner_of_another_file(home):
    """The fork of the other agent is in its own file."""
    h = start(home, "echo $SKEP_AGENT > who; head -c 200000 /dev/zero > big;"
              " ln -s who link; mkdir new; echo x > new/f; rm old",
              ("bot", "other"))
    out = home.skep("try", "bot", "go", "--agents", "bot,other", "--runs", "2").out
    exp = out.split(":")[0]
    rows = trials(h, exp)
    assert [(t["agent"], t["outcome"], t["files_changed"]) for t in rows] == [
        ("bot", "succeeded", 6), ("other", "succeeded", 6)] * 2, rows
    assert "p-values of the differences between variants" in out, out
    assert home.skep("try", "diff", exp, "1", "2").out == "M who\n"
    diff = "/v1/experiments/%s/diff?trial=" % exp
    got, = h.call("GET", diff + "1&other=2&patch=true")["items"]
    assert (got["change"], got["path"]) == ("M", "who"), got
    assert "-bot\n+other\n" in got["text"], got
    got = h.call("GET", diff + "2")["items"]
    assert ("D", "old", None) in [(c["change"], c["path"], c["text"]) for c in got]
    assert len(got) == 6, got
    for bad, status in (("9", 404), ("0", 422), ("1&other=9", 404), ("", 422)):
        try:
            h.call("GET", diff + bad)
            raise AssertionError(bad)
        except Refused as r:
            assert r.status in (status, 400), (bad, r)
    home.skep("vfs", "put", "bot", "new", input="in the way\n")
    r = home.skep("try", "pick", exp, "2", code=65)
    assert "new  (conflict)" in r.out, r.out
    home.skep("vfs", "rm", "bot", "new")
    home.skep("try", "pick", exp, "2")
    assert home.skep("vfs", "ls", "bot").out.count("200000") == 1
    assert cat(home, "new/f") == "x\n" and cat(home, "old") == ""
    assert cat(home, "who") == "other\n"
    assert names(home) == ["main"] and names(home, "other") == []
    h.down()
    home.integrity()


class Page(html.parser.HTMLParser):
    """Checks that tags are closed in order, and that nothing is loaded."""
    EMPTY = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.open, self.count, self.text = [], {}, ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        assert not {"src", "href"} & {k for k, _ in attrs}, (tag, attrs)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


def spread(values):
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2


def p_same(a, b):
    """All ways to deal the values."""
    total, seen = a + b, abs(statistics.mean(a) - statistics.mean(b))
    far = ways = 0
    for chosen in itertools.combinations(range(len(total)), len(a)):
        x = [total[i] for i in chosen]
        y = [v for i, v in enumerate(total) if i not in chosen]
        ways += 1
        far += abs(statistics.mean(x) - statistics.mean(y)) >= seen * (1 - 1e-12)
    return far / ways


def test_the_report_has_the_medians_the_test_and_the_changes(home):
    h = start(home, "for i in $(seq $((SKEP_SEED * SKEP_MORE))); do echo '<b>&' > f$i;"
              " done; echo checked > out")
    (home.dir / "m.json").write_text(json.dumps({
        "prompts": ["<go & do>"], "runs": 4, "check": "cat out; test -e f5",
        "settings": [{"name": n, "config": {"env": {"SKEP_MORE": str(k)}}}
                     for n, k in (("few", 1), ("many", 2))]}))
    exp = home.skep("try", "bot", "--matrix", home.dir / "m.json").out.split(":")[0]
    report = json.loads(home.skep("try", "report", exp, "--json").out)
    rows = trials(h, exp)
    assert report["trials"] == rows
    files = {n: [t["files_changed"] for t in rows if t["name"] == "bot/" + n]
             for n in ("few", "many")}
    assert files == {"few": [2, 3, 4, 5], "many": [3, 5, 7, 9]}, files
    for stats, name in zip(report["statistics"], files):
        times = [t["duration_ms"] / 1000 for t in rows if t["name"] == "bot/" + name]
        assert abs(stats["files"]["median"] - statistics.median(files[name])) < 1e-9
        assert abs(stats["files"]["spread"] - spread(files[name])) < 1e-9
        assert abs(stats["time"]["median"] - statistics.median(times)) < 1e-9
    assert [s["passed"] for s in report["statistics"]] == [0, 2], report["statistics"]
    same, = report["same"]
    assert abs(same["files"] - p_same(files["few"], files["many"])) < 1e-9, same
    page = home.dir / "r.html"
    home.skep("try", "report", exp, "-o", page)
    got = Page(page.read_text())
    assert got.count["svg"] == 3 and got.count["details"] == 10, got.count
    assert "<go & do>" in got.text and "+<b>&" in got.text, got.text
    assert got.text.count("checked") >= 8
    home.skep("try", "report", exp, "-o", home.dir / "r.json")
    assert json.loads((home.dir / "r.json").read_text()) == report
    home.skep("try", "drop", exp, "-y")
    Page(home.skep("try", "report", exp, "-o", "-").out)
    h.down()


def test_an_experiment_over_a_host_directory_reaches_it_by_apply(home):
    site = home.dir / "site"
    site.mkdir()
    (site / "page").write_text("start\n")
    h = host(home)
    h.shell("bot", "echo $SKEP_SEED >> page; echo n > new", workspace="vfs-scratch",
            path=str(site))
    exp = home.skep("try", "bot", "go", "--runs", "2", "--check",
                    "grep 2 page").out.split(":")[0]
    assert [t["files_changed"] for t in trials(h, exp)] == [2, 2]
    home.skep("try", "pick", exp, "2")
    assert (site / "page").read_text() == "start\n" and not (site / "new").exists()
    home.skep("vfs", "apply", "bot")
    assert (site / "page").read_text() == "start\n2\n"
    assert (site / "new").read_text() == "n\n"
    h.down()
    home.integrity()
