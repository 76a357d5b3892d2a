"""Embeddings of events and the nearest of them, by command and over HTTP."""
import json
import math

from skepd_lib import Refused, finish, host

POINTS = {1: [1, 0, 0], 2: [0.9, 0.1, 0], 3: [0, 1, 0], 4: [0, 0, 5]}


def lines(points):
    return "".join(json.dumps({"seq": s, "vector": v}) + "\n"
                   for s, v in points.items())


def fill(home):
    home.skep("agent", "add", "a", "--driver", "script")
    for i in range(4):
        home.skep("session", "append", "s", "text %d" % (i + 1), "--agent", "a")
    return home.skep("vector", "put", "s", "--model", "m", "--agent", "a",
                     "--json", input=lines(POINTS)).json


def near(home, vector, *args):
    rows = home.skep("vector", "search", json.dumps(vector), "--model", "m",
                     "--json", *args).lines
    return [(r["session"], r["seq"], round(r["score"], 4)) for r in rows]


def seqs(home, *args):
    return [seq for _, seq, _ in near(home, [1, 0, 0], *args)]


def test_the_nearest_events_come_first(home):
    assert fill(home)["vectors"] == 4
    cos = round(0.9 / math.hypot(0.9, 0.1), 4)
    assert near(home, [2, 0, 0], "--limit", "2") == [("s", 1, 1), ("s", 2, cos)]
    assert near(home, [0, 0, 1], "--metric", "dot", "--limit", "1") == \
        [("s", 4, 5)]
    out = home.skep("vector", "search", "-", "--model", "m", "--limit", "1",
                    input="[0,1,0]\n").out
    assert "text 3" in out, out
    assert home.skep("vector", "ls", "--json").lines == [
        {"model": "m", "dim": 3, "vectors": 4}]
    home.skep("vector", "rm", "s", "1", "--model", "m")
    assert seqs(home, "--limit", "1") == [2]


def test_what_was_rewound_is_not_near(home):
    fill(home)
    home.skep("session", "fork", "s", "f", "--at", "2")
    home.skep("session", "rewind", "s", "1")
    assert near(home, [1, 0, 0], "--limit", "2") == [
        ("s", 1, 1), ("f", 2, round(0.9 / math.hypot(0.9, 0.1), 4))]
    assert seqs(home, "--session", "s") == [1]
    assert seqs(home, "--session", "s", "--hidden") == [1, 2, 3, 4]
    assert seqs(home, "--session", "f") == [1, 2]
    home.skep("session", "restore", "s")
    assert seqs(home, "--session", "s") == [1, 2, 3, 4]
    home.skep("session", "rm", "s")
    assert [s for s, _, _ in near(home, [1, 0, 0])] == ["f", "f"]


def test_wrong_vectors_change_nothing(home):
    fill(home)
    for text, why in ((lines({1: [1, 2]}), "have 3 elements"),
                      (lines({1: []}), "array of 1 to"),
                      ('{"seq":1,"vector":[1,"x",2]}', "element 2"),
                      (lines({9: [1, 2, 3]}), "no event 9"),
                      ('{"seq":1,"vector":[1e99,0,0]}', "finite"),
                      (lines({2: [5, 5, 5]}) + "{", "line 2"),
                      ("[1]", "object")):
        r = home.run(home.bin / "skep", "vector", "put", "s", "--model", "m",
                     input=text, code=None)
        assert r.code in (64, 65, 66) and why in r.err, (r.code, r.err)
    assert seqs(home) == [1, 2, 3, 4]
    home.refused(64, "vector", "put", "s", input="")
    home.refused(66, "vector", "search", "[1]", "--model", "none")
    home.refused(66, "vector", "search", "[1,2,3]", "--model", "m",
                 "--session", "none")
    home.refused(65, "vector", "search", "[1,2]", "--model", "m")
    home.refused(65, "vector", "search", "nonsense", "--model", "m")
    home.refused(64, "vector", "search", "[1]")


def test_the_same_over_http(home):
    h = host(home)
    fill(home)
    put = "/v1/sessions/a/s/vector"
    made = h.call("PUT", put, {"seq": 3, "model": "m", "vector": [3, 0, 0.5]})
    assert (made["seq"], made["model"]) == (3, "m")

    def ask(**more):
        items = h.call("POST", "/v1/agents/a/vectors/search", dict(
            {"model": "m", "vector": [1, 0, 0]}, **more))["items"]
        return [i["seq"] for i in items]
    assert ask() == [1, 2, 3, 4] and ask(limit=1, metric="dot") == [3]
    h.call("POST", "/v1/sessions/a/s/rewind", {"seq": 2})
    assert ask() == [1, 2] and ask(hidden=True, session="s") == [1, 2, 3, 4]
    for method, path, body, status in (
            ("PUT", put, {"seq": 3, "model": "m", "vector": [1]}, 409),
            ("PUT", put, {"seq": 3, "vector": [1]}, 422),
            ("PUT", put, {"seq": 99, "model": "m", "vector": [1, 2, 3]}, 404),
            ("POST", "/v1/agents/a/vectors/search", {"model": "m"}, 422),
            ("POST", "/v1/agents/zed/vectors/search",
             {"model": "m", "vector": [1]}, 404),
            ("POST", "/v1/agents/a/vectors/search",
             {"model": "m", "vector": [1, 0, 0], "metric": "near"}, 422)):
        try:
            h.call(method, path, body)
            got = 200
        except Refused as r:
            got = r.status
        assert got == status, (body, got)
    paths = h.call("GET", "/openapi.json")["paths"]
    assert "/v1/agents/{agent}/vectors/search" in paths
    finish(h)
