"""`session replay`: a recorded session under other settings, by the rooms that hooks ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.dashboard.played import CODE, LOG, NAME

from brimline.cli.surface import program
from brimline.dashboard.replay import replay_session, replay_text
from brimline.errors import BrimlineError
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from tests.dashboard.played import Played


def replay(session: str, *words: str) -> dict[str, Any]:
    """What it tells programs."""
    done = CliRunner().invoke(program, ["session", "replay", session, "--json", *words])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def happened(found: dict[str, Any], kind: str) -> list[tuple[int, str]]:
    """At which requests something happened, and the first words of it."""
    return [(one["request"], one["text"][:30]) for one in found["events"] if one["kind"] == kind]


def grown(path: str) -> SessionBuilder:
    """A session of a time before brimline: one log of 45 kB, growth, a compaction."""
    session = SessionBuilder(path)
    session.prompt("go on")
    call = session.tool_call(30_000, command="cat big.log")
    result = {"stdout": LOG, "stderr": "", "interrupted": False, "isImage": False}
    session.tool_result(call, LOG, toolUseResult=result)
    for tokens in range(45_000, 165_000, 4_000):
        call = session.tool_call(tokens, command="cat part.py")
        text = CODE[:4_000]
        session.tool_result(call, text, toolUseResult=result | {"stdout": text})
    session.prompt("and now?")
    session.compact(165_000, summary="Summary. " * 100)
    session.reply(40_000)
    return session


def test_the_same_settings_say_what_the_hooks_said(played: Played) -> None:
    """At the same requests, and nothing changes on the disk."""
    told = json.loads(CliRunner().invoke(program, ["history", "--session", NAME, "--json"]).stdout)
    before = sorted(map(str, Path(played.home_dir).rglob("*")))

    found = replay(NAME)

    tiers = [text.partition("tier L")[2][:1] for _, text in happened(found, "said")]
    assert "".join(tiers).startswith("".join(str(one["tier"]) for one in told["messages"]))
    assert found["compactions"] == 1
    assert sorted(map(str, Path(played.home_dir).rglob("*"))) == before


def test_what_would_have_been_kept_out_puts_off_what_follows(world: Path) -> None:
    """The requests after it are smaller, the warnings later, the compaction not needed yet."""
    path = grown(str(world / "session.jsonl")).path

    off, on = replay(path, "--set", "offload.preset=off"), replay(path)

    assert happened(off, "offloaded") == []
    assert happened(on, "offloaded") == [(1, "Bash cat big.log")]
    assert on["kept_out_tokens"] > 8_000
    assert off["peak_tokens"] == off["peak_tokens_recorded"] == on["peak_tokens_recorded"]
    assert on["occupancy_tokens"][5] == off["occupancy_tokens"][5] - on["kept_out_tokens"]
    assert happened(on, "said")[0][0] > happened(off, "said")[0][0]
    assert (happened(off, "postponed"), len(happened(on, "postponed"))) == ([], 1)


def test_a_brim_above_what_was_recorded_puts_a_compaction_off(world: Path) -> None:
    """The session goes on from where it was, by what was recorded after it; not a manual one."""
    session = grown(str(world / "session.jsonl"))
    for tokens in (44_000, 50_000):
        session.reply(tokens)
    kept = ("--set", "offload.preset=off", "--set")

    wider = replay(session.path, *kept, "context_window=1000000")
    found = replay(session.path, *kept, "compaction_tokens=170000")
    session.compact(60_000, trigger="manual")
    asked_for = replay(session.path, *kept, "context_window=1000000")

    assert wider["compactions"] == 0
    assert happened(wider, "postponed") == [(31, "not yet: 165,000 of 1,000,000")]
    assert wider["occupancy_tokens"][-3:] == [165_000, 169_000, 175_000]
    assert happened(found, "compacted") == [(34, "at the brim of 170,000")]
    assert found["occupancy_tokens"][-1] == 40_000
    assert happened(asked_for, "compacted") == [(34, "as recorded")]
    told = CliRunner().invoke(program, ["session", "replay", session.path]).stdout
    assert "A compaction counts what came in after the last request, too." in told


def test_an_earlier_brim_compacts_more_often(world: Path) -> None:
    """Wherever the session would have reached it."""
    path = grown(str(world / "session.jsonl")).path

    found = replay(path, "--set", "compaction_tokens=90000", "--preset", "default")

    assert found["settings"] == {"guard.preset": "default", "compaction_tokens": "90000"}
    assert found["compactions"] > 1
    assert found["peak_tokens"] < 90_000


def test_a_preset_has_its_own_words(world: Path) -> None:
    """They are what the hooks would have said."""
    path = grown(str(world / "session.jsonl")).path

    found = replay(path, "--preset", "haios-80", "--set", "offload.preset=off")

    assert {text[:8] for _, text in happened(found, "said")} == {"CONTEXT:"}


def test_wrong_words_are_named(session: SessionBuilder) -> None:
    """A setting that does not exist, one without a value, one with a wrong value."""
    session.reply(9_000)
    for words, told in (
        ("guard.teirs=1", "there is no setting 'guard.teirs'"),
        ("guard.preset", "write --set guard.preset=VALUE"),
        ("guard.preset=x", "guard.preset takes one of"),
    ):
        done = CliRunner().invoke(program, ["session", "replay", session.path, "--set", words])
        assert told in str(done.exception)
    both = ["--preset", "adr11", "--set", "guard.preset=off"]
    done = CliRunner().invoke(program, ["session", "replay", session.path, *both])
    assert "different presets" in str(done.exception)


def replayed(events: int = 0, **fields: Any) -> dict[str, Any]:
    """What came of a replay, with so many events."""
    event = {"request": 3, "kind": "said", "tokens": 12_345, "text": "Next: ~1 of 2 tokens"}
    usual = {"settings": {}, "requests": 1_200, "peak_tokens": 9_000, "peak_tokens_recorded": None}
    usual |= {"kept_out_tokens": 4_500, "compactions": 2, "events": [event] * events}
    return usual | fields


def test_a_replay_is_told_in_figures_first() -> None:
    """And under which settings it was played; what is unknown is said to be."""
    shown = replay_text(replayed()).splitlines()
    chosen = replay_text(replayed(settings={"guard.preset": "off", "a": "1"}))

    assert [line.split("  ")[-1].strip() for line in shown] == [
        "those in force",
        "1,200",
        "9,000; recorded unknown",
        "~4,500 tokens",
        "2",
    ]
    assert "guard.preset = off, a = 1" in chosen


@pytest.mark.parametrize(
    ("events", "last"),
    [
        (1, "After one that is put off, the session goes on by the growth that was recorded"),
        (60, "After one that is put off, the session goes on by the growth that was recorded"),
        (61, "… 1 more; --json has all of them"),
    ],
)
def test_what_would_have_happened_is_a_table_of_at_most_sixty_rows(events: int, last: str) -> None:
    """With what the figures mean below it."""
    shown = replay_text(replayed(events)).splitlines()

    rows = [line.split() for line in shown if "said" in line]
    assert rows == [["3", "said", "12,345", *("Next:", "~1", "of", "2", "tokens")]] * min(
        events, 60
    )
    assert last in shown[-1]


def test_the_users_own_settings_are_taken_along(world: Path, home_dir: str) -> None:
    """Unless others are chosen."""
    path = grown(str(world / "session.jsonl")).path
    Path(home_dir).mkdir(parents=True, exist_ok=True)
    Path(home_dir, "config.toml").write_text('[offload]\npreset = "off"\n')

    own, chosen = replay(path), replay(path, "--set", "offload.preset=default")

    assert (own["kept_out_tokens"], own["settings"]) == (0, {})
    assert chosen["kept_out_tokens"] > 8_000


def test_figures_of_a_replay_stand_below_each_other_by_their_ends() -> None:
    """The number of the request and the tokens; words by their beginnings."""
    found = replayed(2)
    found["events"][1] = {"request": 12, "kind": "kept", "tokens": None, "text": "y"}

    rows = [line for line in replay_text(found).splitlines() if " said " in line or "kept " in line]

    assert [row.index(" said ") for row in rows[1:2]] == [row.index(" kept ") for row in rows[2:]]
    assert rows[1].lstrip().startswith("3 ")
    assert rows[1].index("12,345") + len("12,345") == rows[2].index("unknown") + len("unknown")


def test_what_cannot_be_played_is_told_in_a_sentence(world: Path) -> None:
    """By the last line of what went wrong."""
    missing = str(world / "gone.jsonl")

    with pytest.raises(BrimlineError) as told:
        replay_session(missing, None, [])

    assert str(told.value).startswith(f"{missing} could not be replayed: FileNotFoundError: ")
    assert "\n" not in str(told.value)


def test_a_replay_without_a_request_has_no_peak(world: Path) -> None:
    """What is not known is no nought."""
    session = SessionBuilder(str(world / "session.jsonl"))
    session.prompt("go on")

    found = replay(session.path)

    assert (found["peak_tokens"], found["peak_tokens_recorded"]) == (None, None)
    assert (found["requests"], found["compactions"], found["kept_out_tokens"]) == (0, 0, 0)
    assert found["occupancy_tokens"] == found["events"] == []
