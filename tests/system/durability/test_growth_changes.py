"""No request that changes something costs the supervisor's loop more with a long
history. Each route is asked three times, for other objects; the least counts.
SKEP_TEST_BIG=1 takes 500,000 runs and 1,000,000 events."""
import time

import growth_lib as growth
from skepd_lib import Refused
from test_growth import BIG, MOST_MS, RUN, RUNS, old_home

COMMIT_MS = 0 if BIG else 5  # of a commit, and of the start of a run
SHELL = {"driver": "exec", "config": {"shell": "true", "stdin": "none"}}
LATER = 1900000000000


def row(prefix, i):
    return "%s_%026d" % (prefix, i)


# Route: the path and the body of request k.
REQUESTS = {
    "PUT /v1/agents/{name}": lambda k: ("/v1/agents/agent%d" % (2 + k), SHELL),
    "DELETE /v1/agents/{name}": lambda k: ("/v1/agents/agent%d?purge=%d" % (5 + k, k % 2),
                                           None),
    "POST /v1/agents/{name}/move": lambda k: ("/v1/agents/agent1/move", {"path": "/none"}),
    "POST /v1/agents/{name}/restore": lambda k: ("/v1/agents/agent1/restore",
                                                 {"path": "/none"}),
    "POST /v1/agents/{name}/import": lambda k: ("/v1/agents/new%d/import" % k,
                                                {"path": "/none"}),
    "POST /v1/agents/{name}/held": lambda k: ("/v1/agents/agent1/held", {}),
    "POST /v1/agents/{name}/file": lambda k: ("/v1/agents/agent2/file", {}),
    "POST /v1/runs": lambda k: ("/v1/runs", {"agent": "agent1", "prompt": "x",
                                             "session": "long", "tags": ["odd"],
                                             "invocation": "big"}),
    "POST /v1/runs/{id}/cancel": lambda k: ("/v1/runs/%s/cancel" % RUN, {}),  # has children
    "POST /v1/runs/cancel": lambda k: ("/v1/runs/cancel", {"agent": "agent1",
                                                           "session": "long"}),
    "POST /v1/runs/{id}/retry": lambda k: ("/v1/runs/%s/retry" % row("run", 101 + k), None),
    "POST /v1/runs/{id}/note": lambda k: ("/v1/runs/%s/note" % row("run", 101 + k),
                                          {"text": "x"}),
    "POST /v1/runs/{id}/revert": lambda k: ("/v1/runs/%s/revert" % row("run", 101), {}),
    "POST /v1/runs/{id}/pause": lambda k: ("/v1/runs/{live}/pause", None),
    "POST /v1/runs/{id}/resume": lambda k: ("/v1/runs/{live}/resume", None),
    "POST /v1/runs/{id}/messages": lambda k: ("/v1/runs/{live}/messages", {"text": "x"}),
    "PUT /v1/sessions/{agent}/{key}": lambda k: ("/v1/sessions/agent1/new%d" % k, {}),
    "PATCH /v1/sessions/{agent}/{key}": lambda k: ("/v1/sessions/agent1/long",
                                                   {"title": "t%d" % k}),
    "DELETE /v1/sessions/{agent}/{key}": lambda k: ("/v1/sessions/agent1/s%d" % (20 + k),
                                                    None),
    "POST /v1/sessions/{agent}/{key}/fork": lambda k: (
        "/v1/sessions/agent1/long/fork", {"key": "fork%d" % k, "at": 5}),
    "POST /v1/sessions/{agent}/{key}/rewind": lambda k: (
        "/v1/sessions/agent1/fork%d/rewind" % k, {"seq": 3}),
    "POST /v1/sessions/{agent}/{key}/restore": lambda k: (
        "/v1/sessions/agent1/fork%d/restore" % k, None),
    "PUT /v1/sessions/{agent}/{key}/vector": lambda k: (
        "/v1/sessions/agent1/long/vector", {"seq": 5 + k, "model": "m", "vector": [1, 0]}),
    "POST /v1/agents/{agent}/vectors/search": lambda k: (
        "/v1/agents/agent1/vectors/search", {"model": "m", "vector": [1, 0]}),
    "POST /v1/approvals/{id}": lambda k: ("/v1/approvals/%s" % row("apr", 6 + k),
                                          {"allow": True}),
    "PUT /v1/channels/{name}": lambda k: ("/v1/channels/web%d" % (2 + k),
                                          {"kind": "pull", "config": {}}),
    "PUT /v1/channels/{name}/bindings": lambda k: (
        "/v1/channels/web1/bindings", {"agent": "agent1", "peer": "peer%d" % k}),
    "DELETE /v1/channels/{name}/bindings": lambda k: (
        "/v1/channels/web1/bindings", {"peer": "peer%d" % k}),
    "POST /v1/channels/{name}/{verb}": lambda k: (
        "/v1/channels/web2/" + ("pause", "resume", "disable")[k], None),
    "POST /v1/channels/{name}/messages": lambda k: (
        "/v1/channels/web1/messages", {"sender": "peer5", "conversation": "peer5",
                                       "text": "x", "agent": "agent1"}),
    "POST /v1/channels/{name}/in": lambda k: ("/v1/channels/web1/in", {"text": "x"}),
    "POST /v1/deliveries": lambda k: ("/v1/deliveries", {
        "channel": "web1", "conversation": "peer%d" % (6 + k), "body": {"text": "x"}}),
    "POST /v1/deliveries/{id}/{verb}": lambda k: (
        "/v1/deliveries/%s/%s" % (row("dlv", 5 + 10 * k),
                                  ("retry", "discard", "resend")[k]), None),
    "POST /v1/inbound/{id}/{verb}": lambda k: (
        "/v1/inbound/%s/%s" % (row("inb", 4 + 10 * k), ("retry", "discard", "retry")[k]),
        None),
    "POST /v1/messages": lambda k: ("/v1/messages", {"to": "agent1/s1", "text": "x"}),
    "POST /v1/messages/{agent}/{session}/read": lambda k: (
        "/v1/messages/agent1/s0/read?limit=100", None),
    "POST /v1/messages/{agent}/{session}/receive": lambda k: (
        "/v1/messages/agent1/s0/receive", None),
    "POST /v1/messages/prune": lambda k: ("/v1/messages/prune", {
        "deliveries_before": 1794600000100, "inbound_before": 1794600000100}),
    "PUT /v1/rooms/{room}/{agent}/{session}": lambda k: (
        "/v1/rooms/lobby/agent1/new%d" % k, None),
    "DELETE /v1/rooms/{room}/{agent}/{session}": lambda k: (
        "/v1/rooms/lobby/agent1/new%d" % k, None),
    "POST /v1/backups": lambda k: ("/v1/backups", {
        "id": row("bak", k), "kind": "manual", "state": "running", "boot_id": "x"}),
    "POST /v1/imports": lambda k: ("/v1/imports", {
        "id": row("imp", k), "source": "/x", "importer": "x", "state": "running"}),
    "POST /v1/imports/items": lambda k: ("/v1/imports/items", {
        "path": "/x/%d" % k, "target": "/y", "sha256": "0" * 64, "run": row("imp", 0),
        "importer": "x", "state": "imported"}),
    "POST /v1/imports/removed": lambda k: ("/v1/imports/removed", {
        "file": "/x/%d" % k, "removed": "deleted"}),
    "POST /v1/vacuum": lambda k: ("/v1/vacuum", {"pages": 1000}),
    "POST /v1/audit": lambda k: ("/v1/audit", {"act": "x", "subject": "y"}),
    "POST /v1/experiments": lambda k: ("/v1/experiments", {
        "agent": "agent1", "runs": 2, "from": "main",
        "variants": [{"agent": "agent1", "prompt": "x"}]}),
    "POST /v1/experiments/{id}/pick": lambda k: (
        "/v1/experiments/%s/pick" % row("exp", k), {"trial": 1}),
    "POST /v1/experiments/{id}/drop": lambda k: (
        "/v1/experiments/%s/drop" % row("exp", k), None),
    "POST /v1/experiments/{id}/resume": lambda k: (
        "/v1/experiments/%s/resume" % row("exp", k), None),
    "POST /v1/experiments/{id}/extend": lambda k: (
        "/v1/experiments/%s/extend" % row("exp", k), {"runs": 1}),
    "PUT /v1/budgets/{name}": lambda k: ("/v1/budgets/b%d" % k, {
        "unit": "runs", "hard": 1000000}),
    "DELETE /v1/budgets/{name}": lambda k: ("/v1/budgets/b%d" % k, None),
    "PUT /v1/schedules/{name}": lambda k: ("/v1/schedules/s%d" % k, {
        "cron": "@yearly", "agent": "agent1", "prompt": "x"}),
    "POST /v1/schedules/{name}/{verb}": lambda k: (
        "/v1/schedules/s%d/%s" % (k, ("fire", "pause", "resume")[k]), None),
    "DELETE /v1/schedules/{name}": lambda k: ("/v1/schedules/s%d" % k, None),
    "PUT /v1/workspaces/{agent}/{namespace}/file": lambda k: (
        "/v1/workspaces/agent1/none/file?path=x", {}),
    "DELETE /v1/workspaces/{agent}/{namespace}/file": lambda k: (
        "/v1/workspaces/agent1/none/file?path=x", None),
    "POST /v1/workspaces/{agent}/{namespace}/snapshots": lambda k: (
        "/v1/workspaces/agent1/none/snapshots", {"name": "s"}),
    "POST /v1/workspaces/{agent}/{namespace}/rollback": lambda k: (
        "/v1/workspaces/agent1/none/rollback", {"name": "s"}),
    "POST /v1/workspaces/{agent}/{namespace}/apply": lambda k: (
        "/v1/workspaces/agent1/none/apply", {}),
    "POST /v1/workspaces/{agent}/{namespace}/discard": lambda k: (
        "/v1/workspaces/agent1/none/discard", {}),
    "POST /v1/logins/codes": lambda k: ("/v1/logins/codes", {}),
    "POST /v1/logins": lambda k: ("/v1/logins", {"code": "x%d" % k}),
    "DELETE /v1/logins/{id}": lambda k: ("/v1/logins/lgn_x", None),
    "DELETE /v1/login": lambda k: ("/v1/login", None),
    "POST /v1/tokens": lambda k: ("/v1/tokens", {"name": "t%d" % k}),
    "DELETE /v1/tokens/{name}": lambda k: ("/v1/tokens/t%d" % k, None),
    "POST /v1/ai/{agent}/chat": lambda k: ("/v1/ai/agent1/chat", {
        "id": "ai%d" % k, "messages": [{"id": "m", "role": "user", "parts": [
            {"type": "text", "text": "x"}]}]}),
    "POST /openai/v1/chat/completions": lambda k: ("/openai/v1/chat/completions", {
        "model": "agent1", "messages": [{"role": "user", "content": "x"}]}),
    "POST /openai/v1/responses": lambda k: ("/openai/v1/responses", {
        "model": "agent1", "input": "x", "background": True}),
    "POST /openai/v1/responses/{id}/cancel": lambda k: (
        "/openai/v1/responses/%s/cancel" % row("resp", 1 + k), None),
    "DELETE /v1/channels/{name}": lambda k: ("/v1/channels/web%d" % (2 + k), None),
}


# What cannot succeed here, and stop, which ends the loop.
REFUSED = {"POST /v1/agents/{name}/move": 404, "POST /v1/agents/{name}/restore": 422,
           "POST /v1/agents/{name}/import": 422, "POST /v1/agents/{name}/held": 404,
           "POST /v1/channels/{name}/in": 401,
           "POST /v1/runs/{id}/revert": 501,
           "PUT /v1/workspaces/{agent}/{namespace}/file": 404,
           "DELETE /v1/workspaces/{agent}/{namespace}/file": 404,
           "POST /v1/workspaces/{agent}/{namespace}/snapshots": 404,
           "POST /v1/workspaces/{agent}/{namespace}/rollback": 404,
           "POST /v1/workspaces/{agent}/{namespace}/apply": 404,
           "POST /v1/workspaces/{agent}/{namespace}/discard": 404,
           "POST /v1/logins/codes": 409, "POST /v1/logins": 401,
           "DELETE /v1/logins/{id}": 404, "DELETE /v1/login": 400,
           "POST /v1/experiments/{id}/pick": 404,
           "POST /v1/experiments/{id}/drop": 404,
           "POST /v1/experiments/{id}/resume": 404,
           "POST /v1/experiments/{id}/extend": 404}
LEFT_OUT = {"POST /v1/stop"}
# These delete in several turns of the loop, of 4 to 5 ms each; of one request,
# more than one turn may be counted.
TURNS = {"DELETE /v1/channels/{name}": 3}


def loop_ms(h, method, path, body):
    """Of the loop, and the status."""
    before = growth.loop_ns(h.process.pid)
    try:
        h.call(method, path, body)
        status = 200
    except Refused as e:
        status = e.status
    except ValueError:  # a stream is not JSON
        status = 200
    time.sleep(0.005)  # the thread's time is counted when it sleeps
    return (growth.loop_ns(h.process.pid) - before) / 1e6, status


def ask(h, route, request, live):
    """The least of three requests."""
    method, spent = route.split()[0], []
    for k in range(3):
        path, body = request(k)
        ms, status = loop_ms(h, method, path.replace("{live}", live), body)
        assert status == REFUSED.get(route, 200), (route, path, status)
        spent.append(ms)
    return min(spent)


def test_no_change_costs_the_loop_more_with_a_long_history(home):
    h = old_home(home)
    routes = {"%s %s" % (method.upper(), path)
              for path, methods in growth.openapi(h)["paths"].items()
              for method in methods if method in ("put", "post", "patch", "delete")}
    missing = routes - set(REQUESTS) - LEFT_OUT - {"POST /v1/runs/prune"}
    assert not missing, "no request for %s" % sorted(missing)
    h.shell("sleeper", "sleep 60")
    live = h.submit("sleeper")
    h.until(live, "running")
    time.sleep(1)
    before = growth.loop_ns(h.process.pid)
    time.sleep(2)
    spent = (growth.loop_ns(h.process.pid) - before) / 1e6
    assert spent < 100, "%.1f ms of 2 s without a request" % spent
    slow = []
    for route, request in REQUESTS.items():
        ms = ask(h, route, request, live)
        print("%-50s %6.2f ms" % (route, ms))
        if ms > (MOST_MS + COMMIT_MS) * TURNS.get(route, 1):
            slow.append("%s: %.1f ms" % (route, ms))
    assert not slow, "\n".join(slow)
    h.down()


def test_pruning_a_run_with_many_rows_takes_many_short_turns(home):
    """The first runs have a fifth of all runs as children, and all approvals."""
    h = old_home(home)
    few = {"before": LATER, "edge": row("run", 90), "count": 200}
    spent, deleted, more = [], 0, True
    while more:
        before = growth.loop_ns(h.process.pid)
        answer = h.call("POST", "/v1/runs/prune", few)
        spent.append((growth.loop_ns(h.process.pid) - before) / 1e6)
        more = answer["changed"]
        deleted += int(answer["note"])
    spent.sort()
    print("%d requests, median %.1f ms, longest %.1f ms"
          % (len(spent), spent[len(spent) // 2], spent[-1]))
    assert deleted == 89, deleted
    assert spent[len(spent) // 2] < MOST_MS + COMMIT_MS, spent
    db = home.control
    for table, column in (("run", "id"), ("run", "parent"), ("run", "retry_of"),
                          ("run_transition", "run"), ("approval", "run"), ("run_tag", "run")):
        left = home.query(db, "SELECT count(*) FROM %s WHERE %s < '%s'"
                          % (table, column, row("run", 90)))
        assert left[0][0] == 0, (table, column, left)
    broken = [r for r in home.query(db, "PRAGMA foreign_key_check") if r[2] == "run"]
    assert not broken, broken[:5]
    h.down()


for test in (test_no_change_costs_the_loop_more_with_a_long_history,
             test_pruning_a_run_with_many_rows_takes_many_short_turns):
    test.seconds = 900 if BIG else 120
