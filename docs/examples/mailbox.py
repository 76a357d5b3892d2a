"""A channel plugin whose platform is two files of JSON lines. Incoming messages
are lines {"id", "sender", "text"} of `inbox`; outgoing ones go to `outbox`."""
import json
import sys
import threading
import time

lock, config, place = threading.Lock(), {}, {"offset": 0, "next": None}


def put(**message):  # writes one whole line; called by both threads
    with lock:
        print(json.dumps(dict(message, jsonrpc="2.0")), flush=True)


def configure(p):  # an exception becomes an error response
    config.update(p["config"])
    place.update(p["cursor"] or {}, next=None)
    open(config["outbox"], "a").close()
    threading.Thread(target=bring, daemon=True).start()


def send(p):
    to, parts = p["routing"], [c.get("body", "") for c in p["content"]]
    with open(config["outbox"], "a") as f:
        f.write(json.dumps({"id": to["id"], "to": to.get("recipient_id"),
                            "text": "\n".join(parts)}) + "\n")


def status(p):  # a ping, or a query about one delivery
    found = p.get("delivery", "-") in open(config["outbox"]).read()
    return {"delivery": "delivered" if found else "missing"}


def bring():  # one line at a time; the offset is stored after the response
    while "inbox" in config and not time.sleep(0.05):
        with open(config["inbox"], "a+") as f:
            f.seek(place["offset"])
            if (line := f.readline()).endswith("\n") and not place["next"]:
                place["next"] = f.tell()
                try:
                    m = dict(json.loads(line))
                except (ValueError, TypeError):
                    m = {}  # skepd rejects it, and we skip it
                put(id="in", method="channel.receive", params=m)


do = {"configure": configure, "send": send, "status": status}
put(method="channel.register", params={"name": "mailbox", "resolves": True})
for m in map(json.loads, sys.stdin):
    if m.get("id") == "in":  # -32602: invalid, skip it; other errors: send it again
        over = m.get("error", {}).get("code", -32602) == -32602
        place.update(offset=place["next" if over else "offset"], next=None)
        put(method="channel.event", params={"event": "cursor", "data": place})
    elif "id" in m:  # every request needs a response
        try:
            put(id=m["id"], result=do[m["method"][8:]](m["params"]) or {})
        except Exception as e:
            put(id=m["id"], error={"code": 1, "message": repr(e)})
