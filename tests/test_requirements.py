"""The catalogue of requirements: complete, truthful about its proofs, and losing none of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from docs.requirements import Row

ROOT = Path(__file__).parent.parent
GROUP_SIZES = {"S0": 38, "S1": 24, "S2": 51, "S3": 83, "S4": 47}
DECISIONS = [f"K{number}" for number in range(1, 68)]
# About how rooms are asked and what may be set, and no row's words.
ABOUT_NO_ROW = {"K53", "K55", "K57", "K59", "K62", "K63", "K64", "K65", "K67"}


@pytest.fixture
def requirements(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module in the `docs` folder of the checkout."""
    monkeypatch.syspath_prepend(str(ROOT))
    from docs import requirements

    return requirements


@pytest.fixture
def rows(requirements: Any) -> tuple[Row, ...]:
    """Every row of the catalogue."""
    found: tuple[Row, ...] = requirements.load(ROOT).rows
    return found


def test_the_catalogue_is_complete_and_each_row_a_sentence(
    requirements: Any, rows: tuple[Row, ...]
) -> None:
    """Ids in order, known kinds, no sentence twice; decisions and rows name each other."""
    ids = [f"{group}-{n:02}" for group, size in GROUP_SIZES.items() for n in range(1, size + 1)]
    sentence = re.compile(r"\S((?!\. ).)*\.")

    assert [row.id for row in rows] == ids
    assert [row.id for row in rows if not row.expected] == []
    assert [row.id for row in rows if row.kind not in requirements.KINDS] == []
    assert [row.id for row in rows if not sentence.fullmatch(row.text)] == []
    assert len({row.text for row in rows}) == len(rows)
    assert list(requirements.load(ROOT).decisions) == DECISIONS
    named = {decision for row in rows for decision in row.overruled}
    assert set(DECISIONS) - named == ABOUT_NO_ROW
    assert [row.id for row in rows if row.in_part and not row.overruled] == []


def test_every_expected_row_is_proven_or_overruled(
    requirements: Any, rows: tuple[Row, ...]
) -> None:
    """The test that fails when a row loses its proof; a mistyped id would be a proof of nothing."""
    proofs = requirements.collect(ROOT)
    missing = [
        f"{row.id} ({row.kind}): {row.text}"
        for row in rows
        if row.expected and requirements.state(row, proofs) == "open"
    ]

    assert not missing, f"{len(missing)} rows without proof:\n" + "\n".join(missing)
    assert set(proofs.tests) <= {row.id for row in rows}
    assert proofs.problems == ()


def test_the_page_has_every_row_and_adds_up(requirements: Any, rows: tuple[Row, ...]) -> None:
    """Each row is in one table, its proofs and pages exist, and the counts are right."""
    page = requirements.page(ROOT)
    totals = re.findall(r"^\| all \|(.*)\|$", page, re.MULTILINE)

    assert [row.id for row in rows if page.count(f"\n| {row.id} |") != 1] == []
    *states, total = map(int, totals[0].split("|"))
    assert sum(states) == total == len(rows)
    linked = re.findall(r"\(\.\./\.\./([^)]*)\)", page)
    documented = [row.documented for row in rows if row.documented]
    assert [place for place in [*linked, *documented] if not _stated(place)] == []


ROWS = "pytest.mark.row('S0-17', 'S0-18')"
PROOFS = (
    f"@{ROWS}\ndef test_it(): ...",
    f"pytestmark = {ROWS}\ndef test_it(): ...",
    f"@pytest.mark.parametrize('n', [pytest.param(1, marks={ROWS})])\ndef test_it(n): ...",
)
NO_PROOFS = (
    "@pytest.mark.row('S0-17')\ndef helper(): ...",
    "@pytest.mark.row(17)\ndef test_it(): ...",
    "@pytest.mark.row(*IDS)\ndef test_it(): ...",
    "row = pytest.mark.row\n@row('S0-17')\ndef test_it(): ...",
)


def test_a_marker_is_found_wherever_pytest_takes_one(requirements: Any) -> None:
    """Elsewhere it is reported; a test that is not run, or may fail, proves nothing."""
    for source in PROOFS:
        found = requirements.collect_module(source, "t.py")
        assert found.tests == dict.fromkeys(("S0-17", "S0-18"), ("t.py::test_it",)), source
        assert found.problems == ()
    for source in NO_PROOFS:
        found = requirements.collect_module(source, "t.py")
        assert (found.tests, len(found.problems)) == ({}, 1), source
    for mark in ("skip('later')", "xfail(reason='broken')"):
        source = f"@pytest.mark.{mark}\n@pytest.mark.row('S0-17')\ndef test_it(): ..."
        assert requirements.collect_module(source, "t.py").tests == {}


def test_a_row_that_needs_a_test_is_open_until_it_has_one(requirements: Any) -> None:
    """Neither a page nor a decision that replaces only part of it settles a behaviour."""
    row = requirements.Row(
        "S0-10", "B", "It.", overruled=("K4",), in_part=True, documented="docs/x.md"
    )
    none = requirements.Proofs({}, ())
    some = requirements.Proofs({"S0-10": ("t.py::test_it",)}, ())

    assert requirements.state(row, none) == "open"
    assert requirements.state(row, some) == "proven"
    assert requirements.state(row._replace(in_part=False), none) == "overruled"
    assert requirements.state(row._replace(kind="P"), none) == "documented"


def _stated(reference: str) -> bool:
    """Whether a page exists, with the heading that follows its `#`."""
    name, _, anchor = reference.partition("#")
    page = ROOT / name
    if not page.is_file():
        return False
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return not anchor or anchor in slugs
