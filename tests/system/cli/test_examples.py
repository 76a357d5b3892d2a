"""The agents in examples/ run as their READMEs say."""
import pathlib
import shutil

import doc_lib
import lib
from openai_mock import Model
from workspace_lib import needs_fuse

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"


def run(home, name):
    """In a home directory that has a copy of the example."""
    home.env["PATH"] = "%s:/usr/bin:/bin" % home.bin
    shutil.copytree(EXAMPLES / name, home.dir / name)
    doc_lib.check(home, "examples/%s/README.md" % name)


def test_every_example_is_listed_short_and_tested(home):
    names = {p.name for p in EXAMPLES.iterdir() if p.is_dir()}
    listed = (EXAMPLES / "README.md").read_text()
    here = pathlib.Path(__file__).read_text()
    for name in names:
        assert "[%s](%s)" % (name, name) in listed, name
        assert 'run(home, "%s")' % name in here, name
        text = (EXAMPLES / name / "README.md").read_text()
        assert len(text.splitlines()) <= 20, name


def test_a_shell_command_is_an_agent(home):
    run(home, "shell")


def test_a_python_program_streams_its_answer(home):
    run(home, "python")


def test_a_node_program_streams_its_answer(home):
    if not shutil.which("node", path="/usr/bin:/bin"):
        lib.skip("node is not installed")
    run(home, "node")


def test_a_model_has_the_tools_of_the_workspace(home):
    needs_fuse()
    model = Model(home.dir)
    home.undo.append(model.shutdown)
    home.env.update(OPENAI_BASE_URL=model.url, MODEL="mock", MODEL_KEY="k-1")
    run(home, "chat")


def test_a_preset_is_an_acp_agent(home):
    run(home, "acp")


def test_a_schedule_starts_a_report(home):
    run(home, "schedule")


def test_a_check_picks_the_best_of_several_runs(home):
    needs_fuse()
    run(home, "best-of-n")


def test_a_plugin_is_a_channel(home):
    run(home, "plugin")
