"""An agent that speaks the Agent Client Protocol and does what it is told.

The prompt is a list of steps as JSON; any other prompt is said back. Its
sessions are files in $ACP_STATE, and all that it hears goes to
$ACP_STATE/heard. $ACP_CAN names what it says that it can: load, resume.

  {"update": {…}}                   session/update
  {"say": "text"}                   the same, with a chunk of a message
  {"call": "method", "params": {}}  asks the client; the answer is said back
  {"tool": "name", "args": {}}      calls a tool of the MCP server it was given
  {"raw": "bytes"}                  a line as it is
  {"sleep": seconds}                or until it is cancelled
  {"wait": "name"}                  until there is such a file in $ACP_STATE
  {"stop": "reason"}                ends the turn
  {"exit": code}                    ends the process
  {"after": {…}}                    an update after the answer
"""
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading

STATE = pathlib.Path(os.environ["ACP_STATE"])
CAN = os.environ.get("ACP_CAN", "").split()


class Agent:
    def __init__(self):
        self.heard = open(STATE / "heard", "a")
        self.answers = {}
        self.cancelled = threading.Event()
        self.last = 0
        self.turns = queue.Queue()
        self.lock = threading.Lock()

    def send(self, **m):
        with self.lock:
            sys.stdout.write(json.dumps(dict(jsonrpc="2.0", **m)) + "\n")
            sys.stdout.flush()

    def update(self, session, update):
        self.send(method="session/update",
                  params={"sessionId": session, "update": update})

    def say(self, session, text):
        self.update(session, {"sessionUpdate": "agent_message_chunk",
                              "content": {"type": "text", "text": text}})

    def call(self, method, params, wait=True):
        self.last += 1
        mine = "a-%d-%d" % (os.getpid(), self.last)
        box = self.answers[mine] = queue.Queue()
        with open(STATE / "asked", "a") as f:
            f.write(json.dumps([mine, method]) + "\n")
        self.send(id=mine, method=method, params=params)
        return box.get() if wait else None

    # -- what a client may ask

    def initialize(self, params):
        can = {"loadSession": "load" in CAN,
               "mcpCapabilities": {"http": "http" in CAN},
               "promptCapabilities": {
            k: True for k in ("image", "audio") if k in CAN}}
        if "resume" in CAN:
            can["sessionCapabilities"] = {"resume": {}}
        return {"protocolVersion": int(os.environ.get("ACP_VERSION", 1)),
                "agentCapabilities": can,
                "agentInfo": {"name": "fake", "version": "1"},
                "authMethods": [{"id": "key", "name": "a key"},
                                {"id": "api-key", "name": "a key"}]
                if "login" in CAN else []}

    def authenticate(self, params):
        (STATE / "login").write_text(params["methodId"])
        return {}

    def session(self):
        return {"modes": {"currentModeId": "ask", "availableModes": [
            {"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}}

    def session_new(self, params):
        self.servers = params["mcpServers"]
        if "login" in CAN and not (STATE / "login").exists():
            return {"error": {"code": -32000, "message": "log in"}}
        n = len(list(STATE.glob("s-*"))) + 1
        (STATE / ("s-%d" % n)).write_text("")
        return dict(self.session(), sessionId="s-%d" % n)

    def session_load(self, params):
        path = STATE / params["sessionId"]
        if not path.exists():
            return {"error": {"code": -32002, "message": "no such session"}}
        for line in path.read_text().splitlines():
            self.update(params["sessionId"], {
                "sessionUpdate": "user_message_chunk",
                "content": {"type": "text", "text": line}})
            self.say(params["sessionId"], "replayed " + line)
        return self.session()

    def session_resume(self, params):
        if not (STATE / params["sessionId"]).exists():
            return {"error": {"code": -32002, "message": "no such session"}}
        return self.session()

    def session_set_mode(self, params):
        return {}

    def session_set_config_option(self, params):
        return {"configOptions": []}

    # -- a turn

    def turn(self, ask, params):
        session = params["sessionId"]
        text = params["prompt"][0]["text"]
        with open(STATE / session, "a") as f:
            f.write(text + "\n")
        try:
            steps = json.loads(text)
        except ValueError:
            if text.startswith("This is a test of your tools"):
                self.work(session, text)
            n = len((STATE / session).read_text().splitlines())
            steps = [{"say": "turn %d, " % n}, {"say": "you said " + text}]
            steps = [{"say": "Reconnecting... 1/5\n"}, {"sleep": 60}] \
                if "hang" in CAN else [] if "mute" in CAN else steps + [
                {"stop": "refusal"}] if "refuse" in CAN else steps
        stop, after = "end_turn", []
        for step in steps:
            if "stop" in step:
                stop = step["stop"]
            elif "after" in step:
                after.append(step["after"])
            else:
                self.step(session, step)
            if self.cancelled.is_set():
                stop = "cancelled"
                break
        self.cancelled.clear()
        self.send(id=ask, result={"stopReason": stop, "usage": {
            "totalTokens": 7, "inputTokens": 5, "outputTokens": 2}})
        for update in after:
            self.update(session, update)

    def work(self, session, text):
        """What `agent test` asks for, unless ACP_CAN says otherwise."""
        name, word = re.search(r"file (\S+) with the content (\S+)\.",
                               text).groups()
        command = re.search("`(.*)`", text).group(1)
        if "idle" in CAN:
            return
        if "no-file" not in CAN:
            pathlib.Path(name).write_text(word + "\n")
        got = self.call("session/request_permission", {
            "sessionId": session, "toolCall": {"toolCallId": "c1"},
            "options": [{"optionId": "n", "name": "no", "kind": "reject_once"},
                        {"optionId": "y", "name": "yes",
                         "kind": "allow_once"}]})
        if got["result"]["outcome"]["optionId"] == "y" and \
                "no-command" not in CAN:
            subprocess.run(command, shell=True, check=False)

    def step(self, session, step):
        if "update" in step:
            self.update(session, step["update"])
        elif "say" in step:
            self.say(session, step["say"])
        elif "many" in step:
            for at in range(0, step["many"], step["piece"]):
                self.say(session, "x" * min(step["piece"],
                                            step["many"] - at))
        elif "raw" in step:
            with self.lock:
                sys.stdout.write(step["raw"] + "\n")
                sys.stdout.flush()
        elif "call" in step:
            params = dict(step["params"], sessionId=session)
            for name, value in params.items():
                if value == "$last":
                    params[name] = self.term
            got = self.call(step["call"], params)
            self.term = (got.get("result") or {}).get("terminalId",
                                                      getattr(self, "term", 0))
            self.say(session, json.dumps(got.get("result", got.get("error")))
                     + "\n")
        elif "tool" in step:
            self.say(session, json.dumps(self.tool(step)) + "\n")
        elif "sleep" in step:
            self.cancelled.wait(step["sleep"])
        elif "wait" in step:
            while not (STATE / step["wait"]).exists():
                self.cancelled.wait(0.02)
        elif "exit" in step:
            sys.stderr.write("going away\n")
            sys.stderr.flush()
            os._exit(step["exit"])

    def tool(self, step):
        """Starts the server as real agents do, again for each call."""
        s = self.servers[0]
        ask = [("initialize", {"protocolVersion": "2025-06-18",
                               "capabilities": {}, "clientInfo":
                               {"name": "fake", "version": "1"}}),
               ("tools/call", {"name": step["tool"],
                               "arguments": step.get("args", {})})]
        text = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": m,
                                   "params": p}) + "\n"
                       for i, (m, p) in enumerate(ask))
        env = {k: v for k, v in os.environ.items() if "SKEP_RUN_" not in k}
        env.update((v["name"], v["value"]) for v in s["env"])
        p = subprocess.run([s["command"]] + s["args"], input=text, text=True,
                           stdout=subprocess.PIPE, env=env, check=True)
        got = json.loads(p.stdout.splitlines()[1])["result"]
        return [got["isError"], got["content"][0]["text"]]

    def turns_of(self):
        while True:
            self.turn(*self.turns.get())

    def serve(self):
        threading.Thread(target=self.turns_of, daemon=True).start()
        for line in sys.stdin:
            self.heard.write(line)
            self.heard.flush()
            m = json.loads(line)
            if "method" not in m:
                self.answers.pop(m["id"]).put(m)
            elif m["method"] == "session/cancel":
                self.cancelled.set()
            elif m["method"] == "session/prompt":
                self.turns.put((m["id"], m["params"]))
            else:
                verb = getattr(self, m["method"].replace("/", "_"))
                got = verb(m["params"])
                self.send(id=m["id"], **(got if "error" in got else
                                         {"result": got}))


if __name__ == "__main__":
    Agent().serve()
