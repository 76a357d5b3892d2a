"""What a torture run asked for and what was acknowledged.

A ledger has one entry per object. `try_` records a request before it is sent;
`acknowledge` records that the program answered it. Afterwards the databases
must hold each acknowledged value, or a value that was requested later: a
request without an answer may or may not have taken effect.
"""
import threading


class Ledger:
    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.history = {}  # key -> list of [value, acknowledged]
        self.requests = 0
        self.acknowledged = 0
        self.findings = []

    def try_(self, key, value):
        with self.lock:
            self.requests += 1
            entry = [value, False]
            self.history.setdefault(key, []).append(entry)
            return entry

    def acknowledge(self, entry):
        with self.lock:
            self.acknowledged += 1
            entry[1] = True

    def allowed(self, key):
        """The values that an object may have now, oldest first; None stands
        for "does not exist"."""
        with self.lock:
            entries = self.history.get(key, [])
            last = max((i for i, e in enumerate(entries) if e[1]), default=None)
            if last is None:
                return [None] + [e[0] for e in entries]
            return [e[0] for e in entries[last:]]

    def settle(self, key, value):
        """The value was read back: earlier entries no longer matter."""
        with self.lock:
            self.history[key] = [[value, True]]

    def keys(self):
        with self.lock:
            return list(self.history)

    def find(self, key, got):
        """Compares a value that was read back; reports a difference once."""
        allowed = self.allowed(key)
        if got in allowed:
            self.settle(key, got)
            return True
        text = "%s: %s is %s; expected %s" % (
            self.name, key, short(got), " or ".join(map(short, allowed)))
        self.findings.append(text)
        print("FOUND " + text, flush=True)
        self.settle(key, got)
        return False


def short(value):
    text = repr(value)
    return text if len(text) < 120 else text[:100] + "… (%d characters)" % len(text)
