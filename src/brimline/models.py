"""What is known of each model: window, prices, who compacts it, whether its thinking is bound.

    model = models.lookup_model("claude-opus-5-5")    # also with the user's own rows:
    model = models.lookup_model(name, config.user_models(home_dir))
    model.window_tokens, model.binds_thinking, model.characters_per_token
    model.prices_for_prompt(prompt_tokens).read       # dollars per million tokens; None: unknown
    model.is_assumed, model.label                     # an unknown `claude-opus-6-1` is "opus 5.5"

`models.toml` is the table; `make docs` makes `models.json` from it, which is read far more quickly.
A name is told by a family's word and a version in it; a version that no row has is taken for the
nearest older one of its family, and marked as assumed. Commands call `lookup_model`; hooks call
`lookup_model_in_rows` with the rows that the compiled settings hold.

Fast path: imports only `fast.paths`.
"""

from __future__ import annotations

from brimline.fast.paths import PACKAGE_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Row = dict[str, Any]

FILE = f"{PACKAGE_DIR}/models.json"
# For savings where no model is at hand: of all tokenizers the one that finds fewest tokens.
MOST_CHARACTERS_PER_TOKEN = 2.85
# The same of all but results, and what a block of a request takes beside its text.
_OTHER_CHARACTERS_PER_TOKEN = 3.2
RESULT_TOKENS, CALL_TOKENS, TEXT_TOKENS = 12, 25, 4
# A Claude of a family that nobody has seen yet is taken for one of these.
_USUAL_FAMILY = "opus"
# Numbers with more digits are dates.
_VERSION_DIGITS = 2
# The client keeps room for a summary of at most so many tokens, and this buffer.
SUMMARY_TOKENS, _BUFFER_TOKENS = 20_000, 13_000
RESERVE_TOKENS = SUMMARY_TOKENS + _BUFFER_TOKENS
PRICE_NAMES = ("input", "output", "write_5m", "write_1h", "read")
# What nobody knows is assumed to be like the oldest models, and never compacted by itself or bound.
UNKNOWN: Row = {
    "families": [],
    "versions": [],
    "window_tokens": 200_000,
    "output_tokens": 64_000,
    "compacts_up_to_tokens": None,
    "binds_thinking": False,
    "characters_per_token": MOST_CHARACTERS_PER_TOKEN,
    "prices": None,
    "prices_above": None,
    "prices_before": [],
    "fast_times": 2,
}
# A search of the service's own, and what requests cost that must stay in one country.
SEARCH_DOLLARS, _US_TIMES = 0.01, 1.1
_table: list[Row] = []
# By their names: a session asks for the same one with each request.
_shipped: dict[str | None, Model] = {}
_MOST_NAMES = 1_000


def tokens_of_result(characters: int) -> float:
    """Return what the text of a result takes in a request, by its length."""
    return characters / MOST_CHARACTERS_PER_TOKEN


def tokens_of_text(characters: int) -> float:
    """The same of any other text, the input of a call too."""
    return characters / _OTHER_CHARACTERS_PER_TOKEN


class Prices:
    """Dollars per million tokens: of the prompt, the reply, and the cache."""

    def __init__(self, row: dict[str, float]) -> None:
        self.input, self.output, self.write_5m, self.write_1h, self.read = [
            row[name] for name in PRICE_NAMES
        ]

    def write_price(self, lifetime_s: int) -> float:
        """The price of what a cache of this lifetime is given."""
        return self.write_5m if lifetime_s <= 300 else self.write_1h  # noqa: PLR2004


class Model:
    """One row of the table, as it holds for a name."""

    def __init__(self, row: Row, name: str | None = None, *, is_assumed: bool = False) -> None:
        self.name = name
        self.row = row = UNKNOWN | row
        self.window_tokens: int = row["window_tokens"]
        self.output_tokens: int = row["output_tokens"]
        # The largest window in which the client compacts by itself; None where nobody has seen it.
        self.compacts_up_to_tokens: int | None = row["compacts_up_to_tokens"]
        self.binds_thinking: bool = row["binds_thinking"]
        self.characters_per_token: float = row["characters_per_token"]
        # Whether any row is about the name, and whether it is that of another version.
        self.is_known = bool(row["families"])
        self.is_assumed = is_assumed
        # How far below the window the client compacts.
        self.reserve_tokens: int = min(self.output_tokens, SUMMARY_TOKENS) + _BUFFER_TOKENS

    @property
    def label(self) -> str:
        """The newest model of the row, in words."""
        return " ".join([*self.row["families"][:1], *self.row["versions"][:1]])

    def prices_for_prompt(self, prompt_tokens: int = 0, day: str = "") -> Prices | None:
        """Return what a prompt of this size costs, or cost on a day; None where nobody knows."""
        for row in self.row["prices_before"] if day else ():
            if day < row["until"]:
                return Prices(row)
        above = self.row["prices_above"]
        row = above if above and prompt_tokens > above["tokens"] else self.row["prices"]
        return Prices(row) if row else None

    def times(self, kind: str) -> float:
        """By how much a request is dearer that was `fast`, or stayed in the `us`."""
        return (self.row["fast_times"] if "fast" in kind else 1) * (
            _US_TIMES if "us" in kind else 1
        )


def lookup_model(name: str | None, user_rows: Iterable[Row] = ()) -> Model:
    """The model of that name, the user's rows first."""
    if not user_rows and name in _shipped:
        return _shipped[name]
    rows = [*user_rows, *shipped_rows()]
    if len(rows) > len(_table):
        return lookup_model_in_rows(name, rows)
    if name not in _shipped:
        if len(_shipped) > _MOST_NAMES:
            _shipped.clear()
        _shipped[name] = lookup_model_in_rows(name, rows)
    return _shipped[name]


def prompt_limits(user_rows: Iterable[Row] = ()) -> list[int]:
    """Sizes above which prompts of some model have other prices."""
    above = [row.get("prices_above") for row in [*user_rows, *shipped_rows()]]
    return sorted({each["tokens"] for each in above if each})


def lookup_model_in_rows(name: str | None, rows: Sequence[Row]) -> Model:
    """The model of that name among these rows; before settings are compiled there are none."""
    family, is_new = _rows_and_is_new_family((name or "").lower(), rows or shipped_rows())
    if not family:
        return Model({}, name)
    version = version_text(name)
    for row in family:
        if not row["versions"] or version in row["versions"]:
            return Model(row, name, is_assumed=is_new)
    return Model(_row_of_nearest_older_version(family, version), name, is_assumed=True)


def _rows_and_is_new_family(name: str, rows: Sequence[Row]) -> tuple[list[Row], bool]:
    """The rows of a name's family, and whether it is one that nobody has seen yet."""
    family = [row for row in rows if [word for word in row["families"] if word in name]]
    if family or "claude" not in name:
        return family, False
    return [row for row in rows if _USUAL_FAMILY in row["families"]], True


def _row_of_nearest_older_version(family: list[Row], version: str) -> Row:
    """The row of the nearest older version; the oldest where there is none."""
    newest_first = sorted(family, key=_newest_version_of_row, reverse=True)
    older = [
        row
        for row in newest_first
        if not version or _newest_version_of_row(row) < _as_numbers(version)
    ]
    return older[0] if older else newest_first[-1]


def version_text(name: str | None) -> str:
    """Major and minor version in a model's name, as rows spell it; empty where it tells none."""
    words = "".join([letter if letter.isalnum() else " " for letter in name or ""]).split()
    numbers = [word for word in words if word.isdecimal() and len(word) <= _VERSION_DIGITS]
    return ".".join(numbers[:2]).removesuffix(".0")


def _newest_version_of_row(row: Row) -> list[int]:
    return max(map(_as_numbers, row["versions"]))


def _as_numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def shipped_rows() -> list[Row]:
    """All rows as they are shipped."""
    if not _table:
        from brimline.fast import io, json

        _table.extend(json.parse_object(io.read_file(FILE))["models"])
    return _table


def rows_for_hooks(user_rows: Iterable[Row]) -> list[Row]:
    """The rows as hooks need them: without prices, and without what is assumed of any model."""
    rows = []
    for row in [*user_rows, *shipped_rows()]:
        told = {key: row[key] for key in row if row[key] != UNKNOWN[key] or key == "versions"}
        rows.append({key: told[key] for key in told if not key.startswith(("prices", "fast"))})
    return rows
