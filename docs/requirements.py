"""Makes `docs/developers/requirements.md`: what is promised, and the tests that hold it.

Promises and decisions come from `requirements.toml`, proofs from the `row` markers in `tests/`.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

GROUPS = {
    "S0": "Context ceiling",
    "S1": "Threshold warning",
    "S2": "Context engineering",
    "S3": "Keeping bulk out, monitoring and purging",
    "S4": "Context guard and memory",
}
KINDS = {
    "B": "behaviour",
    "C": "configuration",
    "M": "message",
    "E": "edge case",
    "P": "principle",
    "A": "anti-pattern",
    "O": "open problem",
    "D": "docs",
    "T": "tests",
}
# Kinds that only a test can prove; for the others a page of the docs may do.
TESTED_KINDS = frozenset("BCME")
STATES = ("proven", "overruled", "documented", "not product", "open")
_HEAD = "<!-- Made by `make docs` from the code; do not edit. -->\n"
_MARKER = "row"
# A test that is not run, or is expected to fail, proves nothing.
_NO_PROOF = frozenset({"skip", "xfail"})
_Test: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Row(NamedTuple):
    """One row of the catalogue."""

    id: str
    kind: str
    text: str
    expected: bool = False
    overruled: tuple[str, ...] = ()
    in_part: bool = False
    documented: str = ""
    not_product: str = ""

    @property
    def group(self) -> str:
        """The part of the id before the dash."""
        return self.id.partition("-")[0]


class Catalogue(NamedTuple):
    """All rows in order, and the decisions by id."""

    rows: tuple[Row, ...]
    decisions: dict[str, str]


class Proofs(NamedTuple):
    """Tests by the row they prove, and markers that prove nothing because of where they stand."""

    tests: dict[str, tuple[str, ...]]
    problems: tuple[str, ...]


def page(root: Path) -> str:
    """The reference page, from the files below the root of the repository."""
    catalogue = load(root)
    proofs = collect(root)
    parts = [_HEAD, "# Requirements\n", _introduction(), _summary(catalogue, proofs)]
    for group, title in GROUPS.items():
        rows = [row for row in catalogue.rows if row.group == group]
        parts += [f"## {group}: {title}\n", _table(rows, proofs)]
    parts += ["## Decisions\n", _decisions(catalogue)]
    return "\n".join(parts)


def load(root: Path) -> Catalogue:
    """The catalogue as it is written down.

    Raises:
        TypeError: a row has a key that does not exist, or lacks one.
    """
    with (root / "docs" / "developers" / "requirements.toml").open("rb") as file:
        document = tomllib.load(file)
    rows = [
        Row(**{**row, "overruled": tuple(row.get("overruled", ()))}) for row in document["rows"]
    ]
    return Catalogue(tuple(rows), document["decisions"])


def collect(root: Path) -> Proofs:
    """Every `row` marker below `tests/`, with the test that carries it."""
    found: dict[str, list[str]] = {}
    problems: list[str] = []
    for path in sorted((root / "tests").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        proofs = collect_module(path.read_text(encoding="utf-8"), name)
        problems += proofs.problems
        for row, tests in proofs.tests.items():
            found.setdefault(row, []).extend(tests)
    return Proofs({row: tuple(found[row]) for row in sorted(found)}, tuple(problems))


def collect_module(source: str, name: str) -> Proofs:
    """The markers of one test module. Pure."""
    module = ast.parse(source)
    constants = _constants(module)
    found: dict[str, list[str]] = {}
    seen: set[ast.Call] = set()
    for label, test, inherited in _tests(module):
        nodes = [*inherited, *_decorating(test.decorator_list, constants)]
        calls = [call for node in nodes for call in _markers(node)]
        seen.update(calls)
        if not _disabled([*inherited, *test.decorator_list]):
            for row in dict.fromkeys(row for call in calls for row in _ids(call)):
                found.setdefault(row, []).append(f"{name}::{label}")
    problems = [f"{name}:{line}: {problem}" for line, problem in _problems(module, seen)]
    return Proofs({row: tuple(tests) for row, tests in found.items()}, tuple(problems))


def state(row: Row, proofs: Proofs) -> str:
    """How a row stands, as one of `STATES`; what needs a test is not settled by a page."""
    if row.id in proofs.tests:
        return "proven"
    if row.overruled and not row.in_part:
        return "overruled"
    if row.documented and row.kind not in TESTED_KINDS:
        return "documented"
    if row.not_product and row.kind not in TESTED_KINDS:
        return "not product"
    return "open"


def _constants(module: ast.Module) -> dict[str, ast.expr]:
    """Module-level values by name: lists of parameters are often kept there."""
    found = {}
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                found[target.id] = value
    return found


def _tests(module: ast.Module) -> Iterator[tuple[str, _Test, list[ast.expr]]]:
    """Label, function and inherited marks of each test that pytest would collect."""
    marks = [value for name, value in _constants(module).items() if name == "pytestmark"]
    for node in module.body:
        if isinstance(node, _Test) and node.name.startswith("test"):
            yield node.name, node, marks
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for inner in node.body:
                if isinstance(inner, _Test) and inner.name.startswith("test"):
                    yield f"{node.name}::{inner.name}", inner, [*marks, *node.decorator_list]


def _decorating(
    decorators: Iterable[ast.expr], constants: dict[str, ast.expr]
) -> Iterator[ast.expr]:
    """The decorators themselves and the constants that they name."""
    for decorator in decorators:
        yield decorator
        for node in ast.walk(decorator):
            if isinstance(node, ast.Name) and node.id in constants:
                yield constants[node.id]


def _markers(node: ast.AST) -> Iterator[ast.Call]:
    """Calls of `pytest.mark.row` anywhere below a node."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and _mark_name(inner) == _MARKER:
            yield inner


def _disabled(marks: Iterable[ast.expr]) -> bool:
    """Whether a test is switched off as a whole; a list of marks counts like its elements."""
    for mark in marks:
        items = mark.elts if isinstance(mark, ast.List | ast.Tuple) else [mark]
        if any(_mark_name(item) in _NO_PROOF for item in items):
            return True
    return False


def _mark_name(node: ast.expr) -> str | None:
    """The name of a mark, be it called or not; None for anything else."""
    target = node.func if isinstance(node, ast.Call) else node
    if not isinstance(target, ast.Attribute):
        return None
    owner = target.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", None)
    return target.attr if name == "mark" else None


def _problems(module: ast.Module, seen: set[ast.Call]) -> Iterator[tuple[int, str]]:
    """Line and reason of each marker that is not a proof, though it looks like one."""
    calls = list(_markers(module))
    called = {call.func for call in calls}
    for call in calls:
        if call not in seen:
            yield call.lineno, "the marker belongs to no test"
        elif not call.args or len(_ids(call)) != len(call.args):
            yield call.lineno, "the marker needs ids as literal strings"
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and _mark_name(node) == _MARKER and node not in called:
            yield node.lineno, "the marker needs ids where it stands"


def _ids(call: ast.Call) -> list[str]:
    return [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def _introduction() -> str:
    kinds = ", ".join(f"{letter} {name}" for letter, name in KINDS.items())
    return (
        "What brimline promises, row by row, and what stands behind each promise:\n"
        "tests that carry the row's id, a [decision](#decisions) that replaces the row, "
        "or a page that states it.\n"
        "A row that is overruled in part holds in the form its decision gives it.\n"
        "Open rows have no test that carries their id yet; most of them are not built.\n\n"
        f"Kinds: {kinds}.\n"
    )


def _summary(catalogue: Catalogue, proofs: Proofs) -> str:
    lines = ["| group | " + " | ".join(STATES) + " | all |", "|---" * (len(STATES) + 2) + "|"]
    for group in GROUPS:
        rows = [row for row in catalogue.rows if row.group == group]
        lines.append(_summary_line(group, rows, proofs))
    lines.append(_summary_line("all", catalogue.rows, proofs))
    return "\n".join(lines) + "\n"


def _summary_line(title: str, rows: Iterable[Row], proofs: Proofs) -> str:
    counts = Counter(state(row, proofs) for row in rows)
    figures = [counts[name] for name in STATES]
    return f"| {title} | " + " | ".join(map(str, [*figures, sum(figures)])) + " |"


def _table(rows: Iterable[Row], proofs: Proofs) -> str:
    lines = ["| id | kind | what brimline promises | state |", "|---|---|---|---|"]
    for row in rows:
        text = row.text.replace("|", "\\|")
        lines.append(f"| {row.id} | {row.kind} | {text} | {_state_cell(row, proofs)} |")
    return "\n".join(lines) + "\n"


def _state_cell(row: Row, proofs: Proofs) -> str:
    """Everything that is known about a row's standing, proofs first."""
    parts = [
        f"proven by [`{test}`](../../{test.partition('::')[0]})"
        for test in proofs.tests.get(row.id, ())
    ]
    if row.overruled:
        label = "overruled in part" if row.in_part else "overruled"
        parts.append(f"{label}: {', '.join(row.overruled)}")
    if row.documented:
        parts.append(f"documented: [{row.documented}](../../{row.documented})")
    if row.not_product:
        parts.append(f"not product: {row.not_product}")
    if state(row, proofs) == "open":
        parts.append("open")
    return "<br>".join(parts)


def _decisions(catalogue: Catalogue) -> str:
    lines = ["| id | decision | rows |", "|---|---|---|"]
    for decision, text in catalogue.decisions.items():
        rows = [row.id for row in catalogue.rows if decision in row.overruled]
        lines.append(f"| {decision} | {text} | {', '.join(rows)} |")
    return "\n".join(lines) + "\n"
