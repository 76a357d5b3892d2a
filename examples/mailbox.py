#!/usr/bin/env python3
"""A channel plugin whose platform is two files of JSON lines: {"id", "from",
"text"} of `inbox` come in, what goes out is appended to `outbox`."""
import json
import sys
import threading
import time

lock, config, place = threading.Lock(), {}, {"offset": 0, "next": None}


def put(**message):
    with lock:
        print(json.dumps(dict(message, jsonrpc="2.0")), flush=True)


def arrived(key):
    with open(config["outbox"], "a+") as f:
        f.seek(0)
        return any(json.loads(line)["id"] == key for line in f)


def send(envelope):
    to, text = envelope["routing"], [c["body"] for c in envelope["content"]]
    line = {"id": to["id"], "to": to["recipient_id"], "text": "\n".join(text)}
    with open(config["outbox"], "a") as f:
        f.write(json.dumps(line) + "\n")


def bring():  # one line at a time; its place is kept once skepd has it
    while not time.sleep(0.05):
        with open(config["inbox"], "a+") as f:
            f.seek(place["offset"])
            line = f.readline()
            if not place["next"] and line.endswith("\n"):
                m, place["next"] = json.loads(line), f.tell()
                put(id="in", method="channel.receive", params={
                    "id": m["id"], "sender": m["from"], "text": m["text"]})


put(method="channel.register", params={"name": "mailbox", "resolves": True})
for line in sys.stdin:
    m = json.loads(line)
    method, params, result = m.get("method"), m.get("params", {}), {"ok": True}
    if method == "channel.configure":
        place.update(params["cursor"] or {})
        config.update(params["config"])
        if "inbox" in config:
            threading.Thread(target=bring, daemon=True).start()
    elif method == "channel.send":
        send(params)
    elif method == "channel.status" and "delivery" in params:
        result["delivery"] = "delivered" if arrived(params["delivery"]) else "missing"
    elif m.get("id") == "in":
        place.update(offset=place["next"], next=None)
        put(method="channel.event", params={"event": "cursor", "data": place})
    if method and "id" in m:
        put(id=m["id"], result=result)
