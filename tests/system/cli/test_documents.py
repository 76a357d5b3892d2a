"""The commands of the documents do what the documents show. support/doc_lib.py
says how a document is written; a new one gets a function here."""
import doc_lib
from workspace_lib import needs_fuse


def test_the_commands_of_workspaces_md_give_the_output_it_shows(home):
    needs_fuse()
    # a permutation test of times
    doc_lib.check(home, "docs/WORKSPACES.md", [(r"( ada/many +)\d\.\d{3}", r"\1P")])


def test_the_commands_of_budgets_md_give_the_output_it_shows(home):
    doc_lib.check(home, "docs/BUDGETS.md")


def test_the_notebook_of_sql_md_gives_the_output_it_shows(home):
    needs_fuse()
    doc_lib.check(home, "docs/SQL.md")


def test_the_commands_of_schedules_md_give_the_output_it_shows(home):
    doc_lib.check(home, "docs/SCHEDULES.md")


def test_the_commands_of_the_readme_give_the_output_it_shows(home):
    doc_lib.check(home, "README.md")
