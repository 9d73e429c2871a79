"""The documentation names what exists: errors, types, methods, commands, files."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark import errors
from ducklake_spark.model import types
from ducklake_spark.model.findings import CHECKS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
ADRS = sorted((DOCS / "adr").glob("*.md"))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [body for kind, body in FENCE.findall(text) if kind == language]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made as code forges make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in kept}


def error_names() -> set[str]:
    classes = inspect.getmembers(errors, inspect.isclass)
    return {name for name, kind in classes if issubclass(kind, errors.DuckLakeError)}


def first_cells(page: Path) -> set[str]:
    """What stands in backticks in the first column of a page's tables."""
    rows = re.findall(r"^\|([^|]*)\|", prose(page), re.MULTILINE)
    return {name for cell in rows for name in re.findall(r"`([^`]+)`", cell)}


def test_every_error_is_explained_and_nothing_else():
    assert first_cells(DOCS / "reference" / "errors.md") == error_names()


def test_every_check_of_a_lake_is_explained_and_nothing_else():
    page = DOCS / "reference" / "check.md"
    assert first_cells(page) == set(CHECKS)
    text = prose(page)
    assert not [sentence for sentence in CHECKS.values() if sentence not in text]


def test_every_scalar_type_is_in_the_type_table():
    documented = first_cells(DOCS / "reference" / "types.md")
    known = set(types._SCALARS)
    assert known <= documented
    assert not {name for name in documented - known if re.fullmatch(r"[a-z]+\d*", name)} - {
        "list",
        "struct",
        "map",
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_somewhere(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), target


def attributes(owner: object) -> set[str]:
    """What can be asked of a module or of an instance of a class."""
    if not inspect.isclass(owner):
        return {*dir(owner), *getattr(owner, "__all__", ())}
    return set(dir(owner)) | set(re.findall(r"self\.(\w+)", inspect.getsource(owner)))


@pytest.mark.parametrize("page", [p for p in PAGES if code_blocks(p, "python")], ids=name_of)
def test_python_examples_call_what_exists(page):
    known = {
        "ducklake_spark": attributes(ducklake_spark),
        "con": attributes(ducklake_spark.Connection),
    }
    for block in code_blocks(page, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = node.value.id
                assert owner not in known or node.attr in known[owner], ast.unparse(node)


def test_readme_shows_the_example_before_anything_else():
    headings_and_fences = re.findall(r"^(## .*|```\w+)", (ROOT / "README.md").read_text(), re.M)
    assert headings_and_fences[0] == "```python"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_named_in_a_page_exist(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= targets


def test_every_make_target_has_a_line_of_help():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):(.*)$", makefile, re.MULTILINE)
    assert not [name for name, rest in targets if "## " not in rest]


@pytest.mark.parametrize("page", ADRS, ids=name_of)
def test_a_decision_record_has_its_four_parts_and_is_listed(page):
    found = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert found == ["Context", "Decision", "What we turned down", "Consequences"]
    assert f"adr/{page.name}" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_compatibility_uses_three_words_for_the_state_of_a_page():
    rows = re.findall(r"^\|(.+)\|$", prose(DOCS / "compatibility.md"), re.MULTILINE)
    states = {cells[1] for row in rows if len(cells := [c.strip() for c in row.split("|")]) == 3}
    assert states - {"State", "---"} <= {"done", "not yet", "never"}
    assert "done" in states


def test_architecture_page_shows_the_import_table():
    documented = first_cells(DOCS / "architecture.md")
    packages = {p.name for p in (ROOT / "src" / "ducklake_spark").iterdir() if p.is_dir()}
    assert packages - {"__pycache__"} <= documented
