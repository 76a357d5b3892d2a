"""Between skepd and a plugin: plugin_tap.py LOG COMMAND... passes lines on, and
keeps each with its direction."""
import json
import subprocess
import sys
import threading

log = open(sys.argv[1], "a", buffering=1)
plugin = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)


def pass_on(source, sink, direction):
    for line in source:
        log.write(json.dumps([direction, json.loads(line)]) + "\n")
        sink.write(line)
        sink.flush()
    sink.close()


threading.Thread(target=pass_on, args=(
    plugin.stdout, sys.stdout.buffer, "from_plugin"), daemon=True).start()
pass_on(sys.stdin.buffer, plugin.stdin, "to_plugin")
plugin.wait()
