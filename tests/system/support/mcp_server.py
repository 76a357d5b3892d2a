"""An MCP server on stdio for tests: echo and touch, a slow one and one that dies.
Its arguments: pages (tools in pages of one), broken (ends at once)."""
import json
import os
import sys
import time

TOOLS = [
    {"name": "echo", "description": "Say it again.",
     "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {
         "text": {"type": "string"}}}},
    {"name": "touch.file", "description": "Make a file.",
     "inputSchema": {"type": "object", "properties": {
         "path": {"type": "string"}}}},
    {"name": "fail", "inputSchema": {"type": "object"}},
    {"name": "long", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object"}},
]


def send(what):
    print(json.dumps(dict(what, jsonrpc="2.0")), flush=True)


def text(words, **more):
    return dict({"content": [{"type": "text", "text": words}]}, **more)


def call(name, args):
    if name == "echo":
        return text("%s %s %s" % (args.get("text"), os.getcwd(),
                                  os.environ.get("WORD")))
    if name == "touch.file":
        open(args["path"], "w").close()
        return {"content": [], "structuredContent": {"made": args["path"]}}
    if name == "hang":
        time.sleep(600)
    if name == "die":
        sys.exit("it had to be")
    if name == "long":
        return text("begin " + "\u00e4" * args["n"] + " end",
                    isError=args["fails"])
    return text("it does not work", isError=True)


def tools(params):
    if "pages" not in sys.argv:
        return {"tools": TOOLS}
    at = int(params.get("cursor") or 0)
    more = {"nextCursor": str(at + 1)} if at + 1 < len(TOOLS) else {}
    return dict({"tools": TOOLS[at:at + 1]}, **more)


def main():
    if "broken" in sys.argv:
        sys.exit("no such luck")
    print("this is not JSON", flush=True)
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m or "method" not in m:
            continue
        if m["method"] == "initialize":
            send({"id": "p", "method": "ping"})
            send({"id": m["id"], "result": {
                "protocolVersion": m["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "t", "version": "1"}}})
        elif m["method"] == "tools/list":
            send({"id": m["id"], "result": tools(m["params"])})
        elif m["method"] == "tools/call":
            p = m["params"]
            send({"id": m["id"], "result": call(p["name"], p["arguments"])})


main()
