"""What tests of sandboxes share: what a run said, and a run beside it."""
PEACE = 'i=0; while [ ! -e stop ]; do i=$((i+1)); sleep 0.05; done; echo peace'


def run_output(d, agent, run):
    return "\n".join(b.get("text", "") for _, kind, b in d.events(agent, run)
                     if kind in ("output", "stderr"))


def neighbour(d, **more):
    """A run of another agent that must go on undisturbed."""
    d.shell("peace", PEACE, **more)
    run = d.submit("peace")
    d.until(run, "running")
    return run


def at_peace(d, run):
    (d.home.path / "agents/peace/workspace/stop").touch()
    assert d.until(run)["state"] == "succeeded"
    assert run_output(d, "peace", run) == "peace"
