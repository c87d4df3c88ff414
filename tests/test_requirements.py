"""The catalogue of requirements: complete, truthful about its proofs, and losing none of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from docs.requirements import Row

ROOT = Path(__file__).parent.parent
GROUP_SIZES = {"S0": 38, "S1": 24, "S2": 51, "S3": 83, "S4": 47}
FIRST_DECISIONS = [f"K{number}" for number in range(1, 31)]
EXPECTED_IDS = {
    "S0": range(1, 39),
    "S1": range(1, 25),
    "S2": (*range(2, 12), *range(18, 27), 28, 29, 32, 34, *range(36, 52)),
    "S3": (*range(1, 77), *range(79, 84)),
    "S4": (*range(2, 9), *range(10, 28), *range(35, 48)),
}


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the `docs` folder of the checkout importable."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def rows() -> tuple[Row, ...]:
    """Every row of the catalogue."""
    from docs import requirements

    return requirements.load(ROOT).rows


def test_every_row_of_the_catalogue_is_listed_once_and_in_order(rows: tuple[Row, ...]) -> None:
    """The ids are well-formed, unique and complete in each group."""
    wanted = [
        f"{group}-{number:02}"
        for group, size in GROUP_SIZES.items()
        for number in range(1, size + 1)
    ]

    assert [row.id for row in rows] == wanted


def test_every_row_is_one_sentence_of_a_known_kind(rows: tuple[Row, ...]) -> None:
    """A promise is short, ends with a full stop and belongs to a kind."""
    from docs import requirements

    odd = [
        row.id
        for row in rows
        if row.kind not in requirements.KINDS or not re.fullmatch(r"\S((?!\. ).)*\.", row.text)
    ]

    assert odd == []


def test_no_two_rows_promise_in_the_same_words(rows: tuple[Row, ...]) -> None:
    """A copied sentence is a row that nobody has thought about."""
    assert len({row.text for row in rows}) == len(rows)


def test_the_rows_expected_now_are_the_agreed_ones(rows: tuple[Row, ...]) -> None:
    """Nobody makes a red row green by no longer expecting it."""
    wanted = [
        f"{group}-{number:02}" for group, numbers in EXPECTED_IDS.items() for number in numbers
    ]

    assert [row.id for row in rows if row.expected] == wanted


def test_every_decision_is_stated_and_overrules_something(rows: tuple[Row, ...]) -> None:
    """Decisions and the rows that name them agree in both directions."""
    from docs import requirements

    named = {decision for row in rows for decision in row.overruled}

    decisions = list(requirements.load(ROOT).decisions)
    assert decisions[:30] == FIRST_DECISIONS
    assert decisions == sorted(decisions, key=lambda name: int(name[1:]))
    assert named == set(decisions)
    assert [row.id for row in rows if row.in_part and not row.overruled] == []


def test_every_marker_in_the_tests_names_an_existing_row(rows: tuple[Row, ...]) -> None:
    """A mistyped id would be a proof of nothing."""
    from docs import requirements

    proofs = requirements.collect(ROOT)
    unknown = {
        row: tests for row, tests in proofs.tests.items() if row not in {known.id for known in rows}
    }

    assert unknown == {}
    assert proofs.problems == ()


def test_every_expected_row_is_proven_or_overruled(rows: tuple[Row, ...]) -> None:
    """The test that fails when a row loses its proof: it names the row and the promise."""
    from docs import requirements

    proofs = requirements.collect(ROOT)
    missing = [
        f"{row.id} ({row.kind}): {row.text}"
        for row in rows
        if row.expected and requirements.state(row, proofs) == "open"
    ]

    assert not missing, f"{len(missing)} rows without proof:\n" + "\n".join(missing)


def test_every_page_named_as_documentation_exists(rows: tuple[Row, ...]) -> None:
    """A row is documented only where the page, and the heading if one is named, is there."""
    gone = [row.documented for row in rows if row.documented and not _stated(row.documented)]

    assert gone == []


PLACES = {
    "decorator": "@pytest.mark.row('S0-17', 'S0-18')\ndef test_it(): ...",
    "two": "@pytest.mark.row('S0-17')\n@mark.row('S0-18')\nasync def test_it(): ...",
    "module": "pytestmark = pytest.mark.row('S0-17', 'S0-18')\ndef test_it(): ...",
    "list": (
        "pytestmark: list[M] = [pytest.mark.client, pytest.mark.row('S0-17', 'S0-18')]\n"
        "def test_it(): ..."
    ),
    "parameters": (
        "@pytest.mark.parametrize('n', [\n"
        "  pytest.param(1, marks=pytest.mark.row('S0-17')),\n"
        "  pytest.param(2, marks=[pytest.mark.row('S0-18')]),\n"
        "])\ndef test_it(n): ..."
    ),
    "constant": (
        "CASES = [pytest.param(1, marks=pytest.mark.row('S0-17', 'S0-18'))]\n"
        "@pytest.mark.parametrize('n', CASES)\ndef test_it(n): ..."
    ),
}


@pytest.mark.parametrize("source", PLACES.values(), ids=PLACES)
def test_a_marker_is_found_wherever_pytest_takes_one(source: str) -> None:
    """On the test, on its module, on one of its parameters."""
    from docs import requirements

    proofs = requirements.collect_module(source, "tests/test_x.py")

    assert proofs.tests == dict.fromkeys(("S0-17", "S0-18"), ("tests/test_x.py::test_it",))
    assert proofs.problems == ()


def test_the_methods_of_a_marked_class_are_proofs() -> None:
    """pytest hands a class's marks on to its tests."""
    from docs import requirements

    source = "@pytest.mark.row('S0-17')\nclass TestIt:\n  def test_a(self): ...\n  def b(self): ..."

    proofs = requirements.collect_module(source, "t.py")

    assert proofs.tests == {"S0-17": ("t.py::TestIt::test_a",)}


@pytest.mark.parametrize("mark", ["skip", "skip('later')", "xfail(reason='broken')"])
def test_a_test_that_is_not_run_or_may_fail_proves_nothing(mark: str) -> None:
    """Switching a test off takes its rows' proof away."""
    from docs import requirements

    source = f"@pytest.mark.{mark}\n@pytest.mark.row('S0-17')\ndef test_it(): ..."

    whole = f"pytestmark = [pytest.mark.{mark}]\n@pytest.mark.row('S0-17')\ndef test_it(): ..."

    assert requirements.collect_module(source, "t.py").tests == {}
    assert requirements.collect_module(whole, "t.py").tests == {}


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.row('S0-17')\ndef helper(): ...",
        "CASES = [pytest.param(1, marks=pytest.mark.row('S0-17'))]\ndef test_it(): ...",
        "@pytest.mark.row(17)\ndef test_it(): ...",
        "@pytest.mark.row()\ndef test_it(): ...",
        "@pytest.mark.row(*IDS)\ndef test_it(): ...",
        "row = pytest.mark.row\n@row('S0-17')\ndef test_it(): ...",
    ],
    ids=["no test", "unused", "number", "empty", "computed", "renamed"],
)
def test_a_marker_that_proves_nothing_is_reported(source: str) -> None:
    """A proof that nobody runs, or that cannot be read, does not pass unnoticed."""
    from docs import requirements

    proofs = requirements.collect_module(source, "t.py")

    assert proofs.tests == {}
    assert len(proofs.problems) == 1


def test_a_row_that_needs_a_test_is_open_until_it_has_one() -> None:
    """Neither a page nor a decision that replaces only part of it settles a behaviour."""
    from docs import requirements

    row = requirements.Row(
        "S0-10", "B", "It.", overruled=("K4",), in_part=True, documented="docs/x.md"
    )
    none = requirements.Proofs({}, ())
    some = requirements.Proofs({"S0-10": ("t.py::test_it",)}, ())

    assert requirements.state(row, none) == "open"
    assert requirements.state(row, some) == "proven"
    assert requirements.state(row._replace(in_part=False), none) == "overruled"
    assert requirements.state(row._replace(kind="P"), none) == "documented"


def test_the_page_has_every_row_and_adds_up(rows: tuple[Row, ...]) -> None:
    """Each row is in one table, its proofs are links, and the counts are those of the rows."""
    from docs import requirements

    page = requirements.page(ROOT)
    totals = re.findall(r"^\| all \|(.*)\|$", page, re.MULTILINE)

    assert [row.id for row in rows if page.count(f"\n| {row.id} |") != 1] == []
    *states, total = map(int, totals[0].split("|"))
    assert sum(states) == total == len(rows)
    assert page == requirements.page(ROOT)
    assert [link for link in re.findall(r"\(\.\./\.\./([^)]*)\)", page) if not _stated(link)] == []


def _stated(reference: str) -> bool:
    """Whether a page exists, with the heading that follows its `#`."""
    name, _, anchor = reference.partition("#")
    page = ROOT / name
    if not page.is_file():
        return False
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return not anchor or anchor in slugs
