"""Samples of compactions and refusals: which count, and what becomes of damaged ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from brimline.state import learned

KEY = "200000:200000"


def sample(tokens: int, **fields: object) -> learned.Sample:
    """An automatic compaction at some tokens."""
    known = {"at": 1.5, "session": "abc", "window": 200_000, "effective": 200_000}
    return learned.Sample(**{"tokens": tokens, "trigger": "auto"} | known | fields)  # type: ignore[arg-type]


@pytest.mark.row("S4-16", "S4-17", "S4-18")
def test_windows_settings_and_endings_are_learned_apart(home_dir: str) -> None:
    """A point of one says nothing about another; an even number meets in the middle."""
    kinds: list[tuple[tuple[int, ...], dict[str, object]]] = [
        ((160_000, 161_000, 165_000, 150_000), {}),
        ((967_000,) * 3, {"window": 1_000_000, "effective": 1_000_000}),
        ((147_000,) * 3, {"window": 1_000_000, "effective": 180_000}),
        ((90_000,) * 3, {"effective": 180_000, "expected": 90_000}),
        ((90_000,) * 9, {}),
        ((167_000,) * 9, {"trigger": "manual"}),
        ((160_000, 190_000, 230_000), {"ending": "refusal"}),
        ((99_999,) * 9, {"ending": "refusal"}),
        ((167_000,) * 2, {"window": 500_000, "effective": 200_000}),
    ]
    assert learned.points(home_dir) == {}
    for tokens, fields in kinds:
        for each in tokens:
            learned.record(home_dir, sample(each, **fields))

    assert learned.points(home_dir) == {
        KEY: 160_500,
        "1000000:1000000": 967_000,
        "1000000:180000": 147_000,
        "200000:180000": 90_000,
        "200000:200000:refusal": 190_000,
    }


@pytest.mark.parametrize(
    ("tokens", "trigger", "usable"),
    [
        *[(147_000, "auto", True), (187_000, "auto", True)],
        *[(146_999, "auto", False), (187_001, "auto", False)],
        *[(167_000, trigger, False) for trigger in ("", "Auto", "AUTO", "api", "manual")],
    ],
)
def test_ten_points_of_the_effective_window_are_near(
    tokens: int, trigger: str, usable: bool
) -> None:
    """On either side of window minus 33,000; what the client did not call automatic is not."""
    assert learned.is_usable(sample(tokens, trigger=trigger)) is usable


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"garbage\n",
        b'{"v":1,"at":1,"session":"abc","window":2000',
        b'{"v":2,"at":1,"session":"a","window":200000,"effective":200000,"tokens":1}\n',
        b'{"v":1,"at":1,"session":"a","window":0,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b'{"v":1,"at":1,"session":"a","window":1,"effective":1,"tokens":true,"trigger":"auto"}\n',
        b'{"v":1,"at":1,"session":"a","window":1,"effective":1,"tokens":1,"trigger":null}\n',
        b'{"v":1,"at":1,"session":7,"window":1,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b'{"v":1,"at":"1","session":"a","window":1,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b"[]\nnull\n\xff\xfe\n",
    ],
)
def test_damaged_samples_are_passed_over(damage: bytes, home_dir: str) -> None:
    """And the ones after them are still read, also behind a torn line; mode 600, as they were."""
    kept = sample(160_000, expected=150_000, ending="refusal")
    learned.record(home_dir, kept)
    path = Path(home_dir, "learned.jsonl")
    with path.open("ab") as file:
        file.write(damage)
    learned.record(home_dir, kept)

    assert learned.samples(home_dir) == [kept, kept]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().startswith(b'{"v":1,"at":1.5,')
