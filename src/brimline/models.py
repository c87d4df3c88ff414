"""What is known of each model: window, prices, who compacts it, whether its thinking is bound.

    model = models.lookup("claude-opus-5-5")         # also with the user's own rows:
    model = models.lookup(name, config.user_models(home_dir))
    model.window_tokens, model.binds_thinking, model.characters_per_token
    model.prices(prompt_tokens).read                  # dollars per million tokens; None: unknown
    model.is_assumed, model.label                     # an unknown `claude-opus-6-1` is "opus 5.5"

`models.toml` is the table. A name is told by a family's word and a version in it; a version that no
row has is taken for the nearest older one of its family, and marked as assumed. Commands call
`lookup`; hooks call `pick` with the rows that the compiled settings hold, and read no file.

Fast path: imports only `launch`.
"""

from __future__ import annotations

from brimline.launch import PACKAGE_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Row = dict[str, Any]

FILE = f"{PACKAGE_DIR}/models.toml"
# For savings where no model is at hand: of all tokenizers the one that finds fewest tokens.
MOST_CHARACTERS_PER_TOKEN = 2.85
# A Claude of a family that nobody has seen yet is taken for one of these.
_USUAL_FAMILY = "opus"
# Numbers with more digits are dates.
_VERSION_DIGITS = 2
# The client keeps room for a summary of at most so many tokens, and this buffer.
_SUMMARY_TOKENS, _BUFFER_TOKENS = 20_000, 13_000
_MOST = 10**12
_PRICE_NAMES = ("input", "output", "write_5m", "write_1h", "read")
# What nobody knows is assumed to be like the oldest models, and never compacted by itself or bound.
_UNKNOWN: Row = {
    "families": [],
    "versions": [],
    "window_tokens": 200_000,
    "output_tokens": 64_000,
    "compacts_up_to_tokens": None,
    "binds_thinking": False,
    "characters_per_token": MOST_CHARACTERS_PER_TOKEN,
    "generation": "",
    "prices": None,
    "prices_above": None,
}
# By its version alone: what a hook goes by before the first settings are compiled.
BY_VERSION: list[Row] = [
    _UNKNOWN
    | {
        "families": ["claude"],
        "versions": [version],
        "window_tokens": window_tokens,
        "compacts_up_to_tokens": compacts_up_to_tokens,
        "binds_thinking": version == "5.1",
        "characters_per_token": characters_per_token,
        "generation": generation,
    }
    for version, window_tokens, compacts_up_to_tokens, characters_per_token, generation in (
        ("5.1", 1_000_000, 1_000_000, 2.2, "4.7"),
        ("4.7", 1_000_000, 1_000_000, 2.2, "4.7"),
        ("4.6", 200_000, 200_000, MOST_CHARACTERS_PER_TOKEN, "4.5"),
        ("4.5", 200_000, 0, MOST_CHARACTERS_PER_TOKEN, "4.5"),
        ("4.1", 200_000, 0, MOST_CHARACTERS_PER_TOKEN, "before-4.5"),
    )
]
_table: list[Row] = []


class Prices:
    """Dollars per million tokens: of the prompt, the reply, and the cache."""

    def __init__(self, row: dict[str, float]) -> None:
        self.input, self.output, self.write_5m, self.write_1h, self.read = [
            row[name] for name in _PRICE_NAMES
        ]

    def write(self, lifetime_s: int) -> float:
        """The price of what a cache of this lifetime is given."""
        return self.write_5m if lifetime_s <= 300 else self.write_1h  # noqa: PLR2004


class Model:
    """One row of the table, as it holds for a name."""

    def __init__(self, row: Row, name: str | None = None, *, is_assumed: bool = False) -> None:
        self.name = name
        self.row = row = _UNKNOWN | row
        self.families: list[str] = row["families"]
        self.versions: list[str] = row["versions"]
        self.window_tokens: int = row["window_tokens"]
        self.output_tokens: int = row["output_tokens"]
        # The largest window in which the client compacts by itself; None where nobody has seen it.
        self.compacts_up_to_tokens: int | None = row["compacts_up_to_tokens"]
        self.binds_thinking: bool = row["binds_thinking"]
        self.characters_per_token: float = row["characters_per_token"]
        self.generation: str = row["generation"]
        # Whether any row is about the name, and whether it is that of another version.
        self.is_known = bool(self.families)
        self.is_assumed = is_assumed
        # How far below the window the client compacts.
        self.reserve_tokens: int = min(self.output_tokens, _SUMMARY_TOKENS) + _BUFFER_TOKENS

    @property
    def label(self) -> str:
        """The newest model of the row, in words."""
        return " ".join([*self.families[:1], *self.versions[:1]])

    def prices(self, prompt_tokens: int = 0) -> Prices | None:
        """What a prompt of this size costs; None where nobody knows."""
        above = self.row["prices_above"]
        row = above if above and prompt_tokens > above["tokens"] else self.row["prices"]
        return Prices(row) if row else None


def lookup(name: str | None, user_rows: Iterable[Row] = ()) -> Model:
    """The model of that name, the user's rows first."""
    return pick(name, [*user_rows, *table()])


def pick(name: str | None, rows: Sequence[Row]) -> Model:
    """The model of that name among these rows; one that nobody knows where there are none."""
    family, is_new = _family((name or "").lower(), rows)
    if not family:
        return Model({}, name)
    version = version_of(name)
    for row in family:
        if not row["versions"] or version in [version_of(text) for text in row["versions"]]:
            return Model(row, name, is_assumed=is_new)
    return Model(_nearest_older(family, version), name, is_assumed=True)


def _family(name: str, rows: Sequence[Row]) -> tuple[list[Row], bool]:
    """The rows of a name's family, and whether it is one that nobody has seen yet."""
    family = [row for row in rows if any(word in name for word in row["families"])]
    if family or "claude" not in name:
        return family, False
    return [row for row in rows if _USUAL_FAMILY in row["families"]], True


def _nearest_older(family: list[Row], version: tuple[int, int] | None) -> Row:
    """The row of the nearest older version; the oldest where there is none."""
    newest_first = sorted(family, key=_newest, reverse=True)
    older = [row for row in newest_first if version is None or _newest(row) < version]
    return older[0] if older else newest_first[-1]


def version_of(name: str | None) -> tuple[int, int] | None:
    """Major and minor version in a model's name; None where it tells none."""
    words = "".join([letter if letter.isalnum() else " " for letter in name or ""]).split()
    numbers = [int(word) for word in words if word.isdecimal() and len(word) <= _VERSION_DIGITS]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else None


def _newest(row: Row) -> tuple[int, int]:
    return max([version_of(text) or (0, 0) for text in row["versions"]], default=(0, 0))


def table() -> list[Row]:
    """All rows as they are shipped."""
    if not _table:
        import tomllib

        with open(FILE, "rb") as file:
            _table.extend(tomllib.load(file)["models"])
    return _table


def compiled(user_rows: Iterable[Row]) -> list[Row]:
    """The rows as hooks need them, without prices."""
    rows = [*user_rows, *table()]
    return [{key: row[key] for key in row if not key.startswith("prices")} for row in rows]


def checked(entry: Any) -> Row:
    """One row as a user wrote it, completed by what the model would be taken for without it.

    Raises:
        ValueError: one phrase saying what is wrong with it.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("families"), list):
        raise ValueError('needs families = ["…"], the words of the names that it is about')
    for key, value in entry.items():
        if key not in _UNKNOWN or not _fits(key, value):
            raise ValueError(f"cannot have {key} = {value!r}")
    versions = entry.get("versions", [])
    taken_for = pick(" ".join([*entry["families"][:1], *versions[:1]]), table()).row
    return _UNKNOWN | taken_for | {"versions": []} | entry


def _fits(key: str, value: Any) -> bool:
    """Tell whether a value is of the kind that a field takes."""
    if key == "families":
        return _are_texts(value)
    if key == "versions":
        return _are_texts(value) and all(map(version_of, value))
    if key.startswith("prices"):
        names = {*_PRICE_NAMES, "tokens"} if key == "prices_above" else {*_PRICE_NAMES}
        return isinstance(value, dict) and value.keys() == names and _are_amounts(value.values())
    if key in ("binds_thinking", "generation"):
        return isinstance(value, bool if key == "binds_thinking" else str)
    is_whole = not key.endswith("_tokens") or isinstance(value, int)
    return is_whole and _are_amounts([value]) and (value > 0 or key == "compacts_up_to_tokens")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)


def _are_amounts(values: Iterable[Any]) -> bool:
    return all(type(value) in (int, float) and 0 <= value < _MOST for value in values)
