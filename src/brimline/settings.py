"""The one list of settings: name, kind, default, meaning. Config, policy and docs are made from it.

Fast path: imports nothing. A setting `a.b` has the environment form `BRIMLINE_A_B`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Setting:
    """One thing a user can set."""

    __slots__ = ("choices", "default", "doc", "key", "kind", "project")

    def __init__(
        self,
        key: str,
        kind: str,
        default: Any,
        doc: str,
        *,
        choices: tuple[str, ...] = (),
        project: bool = True,
    ) -> None:
        self.key = key
        self.kind = kind
        self.default = default
        self.doc = doc
        self.choices = choices
        self.project = project

    @property
    def env(self) -> str:
        """The environment variable that overrides it."""
        return "BRIMLINE_" + self.key.upper().replace(".", "_")


SETTINGS = (
    Setting(
        "context_window",
        "tokens",
        None,
        "Size of the model's context window in tokens, where brimline cannot learn it from the "
        "status line. Unset: found out by itself.",
    ),
    Setting(
        "compaction_tokens",
        "tokens",
        None,
        "Tokens at which the client is expected to compact. Unset: from the client's settings, "
        "else the window less 33,000.",
    ),
    Setting(
        "guard.preset",
        "choice",
        "default",
        "Which set of warnings is in force; `off` measures and stays silent.",
        choices=("default", "off"),
    ),
    Setting(
        "guard.tiers",
        "points",
        [30, 15, 7, 3],
        "Distance to the compaction point, in percentage points of the window, at which the tiers "
        "L1 to L4 begin.",
    ),
    Setting(
        "statusline.order",
        "choice",
        "brimline-first",
        "Where a status line that was there before brimline is printed.",
        choices=("brimline-first", "brimline-last"),
        project=False,
    ),
)

BY_KEY = {setting.key: setting for setting in SETTINGS}
TIER_COUNT = 4
_MOST_DIGITS = 12


def defaults() -> dict[str, Any]:
    """Every setting at its default."""
    return {setting.key: setting.default for setting in SETTINGS}


def coerce(setting: Setting, raw: Any) -> Any:
    """Check a value from a file, or parse one from the environment or the command line.

    Raises:
        ValueError: one phrase saying what the setting takes.
    """
    return _COERCIONS[setting.kind](setting, raw)


def _tokens(_: Setting, raw: Any) -> int:
    if isinstance(raw, str):
        digits = raw.strip().replace("_", "")
        plain = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
        raw = int(digits) if plain else None
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 < raw < 10**_MOST_DIGITS:
        return raw
    raise ValueError("takes a whole number of tokens above 0")


def _choice(setting: Setting, raw: Any) -> str:
    if isinstance(raw, str) and raw.strip() in setting.choices:
        return raw.strip()
    raise ValueError("takes one of " + ", ".join(setting.choices))


def _points(_: Setting, raw: Any) -> list[float]:
    problem = "takes four falling numbers between 0 and 100, such as [30, 15, 7, 3]"
    items = raw.strip().strip("[]").split(",") if isinstance(raw, str) else raw
    if not isinstance(items, list) or len(items) != TIER_COUNT:
        raise ValueError(problem)
    try:
        numbers = [_number(item) for item in items]
    except (ValueError, OverflowError):
        raise ValueError(problem) from None
    falling = all(numbers[at] > numbers[at + 1] for at in range(TIER_COUNT - 1))
    if not falling or numbers[0] > 100 or numbers[-1] < 0:  # noqa: PLR2004 - percentage points
        raise ValueError(problem)
    return numbers


def _number(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise ValueError("not a number")
    value = float(raw)
    return int(value) if value == int(value) else value


_COERCIONS = {"tokens": _tokens, "choice": _choice, "points": _points}
