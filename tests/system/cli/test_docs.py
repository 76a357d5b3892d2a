"""What is written about the commands is true, and nothing is left out."""
import pathlib
import re

import lib

ROOT = pathlib.Path(__file__).resolve().parents[3]


def commands(home):
    return [c["name"] for c in home.skep("help", "--json").lines]


def test_the_readme_has_every_command(home):
    text = (ROOT / "README.md").read_text()
    rows = {}
    for noun, what in re.findall(r"^\| `skep ([a-z]+)[^|]*\|([^|]*)\|", text,
                                 re.M):
        rows[noun] = set(re.findall(r"`([a-z-]+)`", what))
    for name in commands(home):
        noun, _, verb = name.partition(" ")
        assert noun in rows, "README.md has no row for skep %s: run tools/readme" % noun
        assert not verb or verb in rows[noun], "README.md lacks skep %s: run tools/readme" % name


def test_the_readme_lists_every_exit_status(home):
    table = (ROOT / "README.md").read_text().split("### Exit status")[1]
    errors = (ROOT / "lib/base/err.def").read_text()
    assert re.findall(r"^\| (\d+) \|", table, re.M) == sorted(
        set(re.findall(r"^ERR\(\w+, *\d+, *(\d+),", errors, re.M)), key=int)


def test_links_between_documents_lead_somewhere(home):
    for doc in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"),
                *ROOT.glob("*/README.md"), *ROOT.glob("*/*/README.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", doc.read_text()):
            assert (doc.parent / link).exists(), "%s: %s" % (doc, link)


def test_every_folder_has_a_readme_of_one_screen(home):
    listed = home.run("git", "-C", ROOT, "ls-files", code=None)
    if listed.code:
        lib.skip("not in a git tree")
    folders = {line.split("/")[0] for line in listed.out.splitlines()
               if "/" in line}
    for name in sorted(f for f in folders if not f.startswith(".")):
        readme = ROOT / name / "README.md"
        assert readme.exists(), name + " has no README.md"
        assert len(readme.read_text().splitlines()) <= 70, name


def test_every_command_has_help_and_a_man_page(home):
    pages = home.bin / "doc"
    for name in commands(home):
        noun, _, verb = name.partition(" ")
        out = home.skep(*name.split(), "--help").out
        assert out.startswith("usage: skep " + name) and "--json" in out
        page = pages / ("skep-%s.1" % noun if verb else "skep.1")
        assert "skep " + name in page.read_text().replace("\\-", "-"), name
    home.skep("--help")
    for noun in {n.split()[0] for n in commands(home) if " " in n}:
        home.skep(noun, "--help")


def test_the_programs_pages_name_their_options(home):
    page = (ROOT / "docs" / "skepd.8").read_text().replace("\\-", "-")
    for option in re.findall(r"--[a-z]+",
                             home.run(home.bin / "skepd", "--help").out):
        assert option in page, option
    assert home.run(home.bin / "skepd", "--version").out.startswith("skepd ")
