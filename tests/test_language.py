"""What people read has the field's standard terms; ``python tests/language.py`` lists what does not."""

import pytest

from tests import language


@pytest.mark.parametrize("path", language.DOCUMENTATION)
def test_documentation_uses_the_standard_terms(path):
    assert [str(found) for found in language.findings([path])] == []


@pytest.mark.parametrize("path", language.CODE)
def test_strings_and_comments_use_the_standard_terms(path):
    assert [str(found) for found in language.findings([path])] == []


def test_every_checked_path_exists():
    assert all((language.ROOT / path).exists() for path in (*language.DOCUMENTATION, *language.CODE))


@pytest.mark.parametrize(
    "sentence",
    [
        "What is not here is left out and told.",
        "A slowdown is found in 99 %.",
        "A leak is looked for behind the first evaluation.",
        "It is worth its runs, for it adds to the baseline.",
        "The figures are held\nagainst the ones of before.",
        "Each case takes its turn.",
        "processes of others on the card",
    ],
)
def test_a_sentence_to_avoid_is_found(sentence):
    assert [*language.in_text("page.md", sentence)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Frameworks that are not installed are skipped and listed.",
        "`behind_single` and `--dlbench-shadow` are names; so is [this](behind.md).",
        "An increase in 5 % steps.",
        "Here is how: run it for the baseline, then for the candidate.",
    ],
)
def test_plain_english_passes(sentence):
    assert [*language.in_text("page.md", sentence)] == []


def test_a_finding_in_python_has_its_line_and_names_are_not_prose():
    code = (
        '"""Fine."""\n\ntold = {"told": 1}\nx = (\n    "all is "\n    "left "\n    "out"\n)\n# It tells\n# nothing.\n'
    )
    assert [(found.line, found.words) for found in language.in_text("a.py", code)] == [(6, "left out"), (9, "tells")]


def test_only_the_newest_section_of_the_changelog_is_checked():
    text = "# Changes\n\n## Unreleased\n\nIt tells.\n\n## 0.1\n\nIt told.\n"
    assert [found.line for found in language.in_text("CHANGELOG.md", text)] == [5]


def test_boxes_around_cells_have_their_name_from_the_literature_where_detectors_are_and_nowhere_else():
    comment = "# Anchors are scored.\n"
    assert [*language.in_text("pytest_dlbench/model/heads.py", comment)] == []
    assert [*language.in_text("pytest_dlbench/judging/gate.py", comment)]
