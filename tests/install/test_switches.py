"""`config autocompact` and `scout`: one value in the client's settings, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths, policy
from brimline.install import switches
from brimline.settings import config

from .conftest import ORIGINAL, Done, Home

if TYPE_CHECKING:
    from pathlib import Path

RECALLS = "mcp__brimline__recall|mcp__plugin_brimline_brimline__recall"
NARROW = f"Agent|Task|Skill|Write|{RECALLS}"
WIDE = f"{NARROW}|Read|Glob|Grep|Bash"
LAYOUTS = [
    b"{}",
    b"{}\n",
    b'{\n\t"model": "opus",\n\t"env": {"A": "1"}\n}',
    b'{\r\n    "model": "opus",\r\n    "hooks": {}\r\n}\r\n',
    b'\xef\xbb\xbf{\n  "a": [1, 2,\n 3], "b": "\\u00e9"\n}\n\n',
]


def autocompact(home: Home, *arguments: str) -> Done:
    """Run `config autocompact`."""
    return home.run("config", "autocompact", *arguments, "--json")


@pytest.mark.parametrize("original", LAYOUTS)
def test_off_gives_every_byte_back(original: bytes, home: Home) -> None:
    """However the file is laid out, only the key comes, changes and goes; an install around it."""
    home.settings.write_bytes(original)
    for value, tokens in (("300000", 300_000), ("250_000", 250_000), ("200,000", 200_000)):
        report = autocompact(home, value).report
        assert (report["changed"], report["autoCompactWindow"]) == (True, tokens)
        assert report["compaction_tokens"] == tokens - 33_000
        written = json.loads(home.settings.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        assert written["autoCompactWindow"] == tokens
    assert not autocompact(home, "200000").report["changed"]
    home.install()
    assert autocompact(home, "off").report["changed"]
    home.uninstall()

    assert home.settings.read_bytes() == original


def test_a_value_that_was_there_is_changed_in_its_place(home: Home) -> None:
    """Order, indentation and neighbours stay; off removes exactly the key."""
    home.settings.write_bytes(b'{\n "a": 1,\n "autoCompactWindow" :  5 ,\n "z": {"x":[]}\n}\n')
    autocompact(home, "200000")
    assert b'"a": 1,\n "autoCompactWindow" :  200000 ,\n "z"' in home.settings.read_bytes()

    autocompact(home, "off")
    assert home.settings.read_bytes() == b'{\n "a": 1 ,\n "z": {"x":[]}\n}\n'


def test_without_a_settings_file_one_is_made(home: Home) -> None:
    """With the key alone; off without a file makes none. Hooks know the new point at once."""
    home.settings.unlink()
    assert not autocompact(home, "off").report["changed"]
    assert not home.settings.exists()

    autocompact(home, "200000")

    assert home.settings.read_bytes() == b'{\n  "autoCompactWindow": 200000\n}\n'
    stored = policy.load_compiled(home.data, home.project)
    assert stored is not None
    assert stored.client["autocompact_window"] == 200_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["99999"], "does not honour values below 100,000"),
        (["1000001"], "1,000,001 is above the window of 1,000,000 tokens"),
        (["OFF"], "takes a whole number or off, not 'OFF'"),
        (["off", "--percent", "50"], "--percent goes with TOKENS"),
        (["٢٠٠٠٠٠"], "takes a whole number or off"),
    ],
)
def test_other_values_are_refused_and_nothing_is_written(
    arguments: list[str], sentence: str, home: Home
) -> None:
    """The window is never exceeded, and a value the client ignores is never written."""
    done = autocompact(home, *arguments)

    assert (done.code > 0, done.out) == (True, "")
    assert sentence in done.err
    assert home.everything() == {str(home.settings): ORIGINAL}
    home.settings.write_bytes(b'{"env": []}')
    assert "nothing was changed" in autocompact(home, "200000", "--percent", "50").err
    config.write_setting(paths.user_config(home.data), "context_window", "200000")
    assert "above the window of 200,000" in autocompact(home, "200001").err


def test_a_person_is_told_what_happens_and_from_when_on(home: Home) -> None:
    """The point, the file, that running sessions keep the old value, and who checks the order."""
    texts = [
        " ".join(home.run("config", "autocompact", *words).out.split())
        for words in (["300000"], ["off"], ["off"])
    ]

    point = "the client compacts at about 267,000 tokens."
    assert texts[0].startswith(f"autoCompactWindow = 300,000 in {home.settings}: {point}")
    assert "the client's default holds" in texts[1]
    assert ["`brimline doctor` says" in text for text in texts] == [True, True, False]


@pytest.mark.row("S3-79")
def test_a_percentage_goes_beside_whatever_else_is_there(home: Home) -> None:
    """It can only lower the point; off takes both away and nothing else."""
    before = b'{"env": {"A": "1"}, "model": "opus"}'
    home.settings.write_bytes(before)
    report = autocompact(home, "200000", "--percent", "50").report

    assert report["compaction_tokens"] == 90_000
    assert home.value["env"] == {"A": "1", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}
    autocompact(home, "off")
    assert home.settings.read_bytes() == before
    home.settings.unlink()
    assert autocompact(home, "200000", "--percent", "100").report["compaction_tokens"] == 167_000
    assert home.value["env"] == {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "100"}


def matcher(path: Path) -> str:
    """The tools that the client asks about before they run."""
    (group,) = json.loads(path.read_bytes())["hooks"]["PreToolUse"]
    return str(group["matcher"])


@pytest.mark.row("S0-32", "S2-46")
def test_the_scout_on_and_off_is_a_round_trip(home: Home) -> None:
    """Wherever it is installed the matcher widens and narrows, and nothing else changes."""
    home.install()
    before = home.settings.read_bytes()
    assert matcher(home.settings) == NARROW

    report, again = (home.run("scout", "on", "--json").report for _ in range(2))
    assert report["settings"] == [str(home.settings)]
    assert again == {"scout": "on", "settings": [], "problem": None}
    assert matcher(home.settings) == WIDE
    assert config.load(home.data, home.project).values["scout.mode"] == "advise"
    text = home.run("scout", "off").out
    assert text.startswith("The scout is off in new sessions (")
    assert home.value == json.loads(before)

    home.run("scout", "on")
    home.uninstall()
    assert home.settings.read_bytes() == ORIGINAL


def test_without_an_installation_the_scout_is_one_sentence(home: Home) -> None:
    """Nothing is written, neither of the client's nor of ours."""
    done = home.run("scout", "off")

    assert (done.code, done.out) == (1, "")
    assert done.err == "brimline: brimline is not installed here yet: run `brimline install` first"
    assert home.everything() == {str(home.settings): ORIGINAL}


@pytest.mark.parametrize(
    ("window", "percent", "point"),
    [
        (200_000, None, 167_000),
        (200_000, 100, 167_000),
        (200_000, 93, 167_000),
        (200_000, 92, 165_600),
        (200_000, 1, 1_800),
        (100_000, None, 67_000),
        (100_000, 84, 67_000),
        (100_000, 83, 66_400),
    ],
)
def test_a_percentage_lowers_the_point_and_never_lifts_it(
    window: int, percent: int | None, point: int
) -> None:
    """It is of the window less 20,000 tokens for the reply."""
    assert switches._compaction_point_tokens(window, percent) == point


@pytest.mark.parametrize(
    ("arguments", "is_taken"),
    [
        (["100000"], True),
        (["1000000"], True),
        (["200000", "--percent", "1"], True),
        (["200000", "--percent", "100"], True),
        (["200000", "--percent", "0"], False),
        (["200000", "--percent", "101"], False),
        (["0"], False),
        (["-5"], False),
    ],
)
def test_a_window_is_taken_from_100_000_to_a_million_tokens(
    arguments: list[str], is_taken: bool, home: Home
) -> None:
    """And a percentage from 1 to 100; else nothing is written."""
    before = home.settings.read_bytes()

    done = home.run("config", "autocompact", *arguments)

    assert (done.code == 0) is is_taken
    assert (home.settings.read_bytes() == before) is not is_taken


def test_a_scout_that_refuses_still_does_when_it_is_switched_on_again(home: Home) -> None:
    """Off, and on again, it gives advice."""
    home.install()
    config.write_setting(paths.user_config(home.data), "scout.mode", "block")

    modes = []
    for word in ("on", "off", "on"):
        home.run("scout", word)
        modes.append(config.load(home.data, home.project).values["scout.mode"])
        stored = policy.load_compiled(home.data, home.project)
        assert stored is not None
        assert stored.values["scout.mode"] == modes[-1], "hooks know it at once"

    assert modes == ["block", "off", "advise"]


def test_an_ignore_file_is_written_with_its_patterns_counted(home: Home) -> None:
    """One that is there stays, unless that is wanted."""
    report = home.run("scout", "init", "--json").report
    again, forced = home.run("scout", "init"), home.run("scout", "init", "--force")

    assert report["file"] == f"{home.project}/.brimlineignore"
    assert len(report["patterns"]) > 1
    assert again.code == 1
    count = len(report["patterns"])
    assert forced.out == f"Wrote {report['file']} with {count} patterns. Edit it to taste.\n"
