#!/usr/bin/env python3
"""Spells the prompt: one event for each letter."""
import json
import sys

prompt = json.loads(sys.stdin.readline())["prompt"]
for i, letter in enumerate(prompt):
    text = letter if i == 0 else "-" + letter
    print(json.dumps({"type": "delta", "part": "p1", "kind": "text", "text": text}),
          flush=True)
print(json.dumps({"type": "done", "part": "p1"}), flush=True)
