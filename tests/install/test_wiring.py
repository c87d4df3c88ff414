"""The settings text with brimline wired in and taken out again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.errors import InstallError
from brimline.hooks import table
from brimline.install import entries, jsontext, wiring

WIRED = entries.Wiring(
    "/usr/bin/python3", "/opt/brim line's/lib", "/it's/brimline", "/it's/brimline/bin/hook"
)
RULES = ("Bash(brimline store get:*)", "mcp__brimline__recall")
PLAIN = entries.Wiring("/usr/bin/python3", "/opt/lib", "/data")
OTHER = {"type": "command", "command": "theirs", "timeout": 5}
THEIRS = {"type": "command", "command": "echo from brimline.launch import main"}
PIPED = {"type": "command", "command": entries.statusline_command(WIRED) + " | cut -c1-80"}
OURS = json.loads(wiring.with_entries("{}", WIRED))["hooks"]["PostToolUse"][0]
OLD = json.loads(wiring.with_entries("{}", PLAIN))["hooks"]["PostToolUse"][0]

groups = st.fixed_dictionaries(
    {"hooks": st.lists(st.just(OTHER), max_size=2)},
    optional={"matcher": st.sampled_from(["*", "Bash", ""])},
)
events = st.sampled_from([*table.EVENTS, "Elicitation", "Notification"])
lines: list[Any] = [
    {"type": "command", "command": '~/line.sh --it\'s "so"', "padding": 0},
    {"type": "command", "command": ""},
    {"command": "date\nwhoami"},
    {"type": "builtin"},
    None,
]
objects = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["opus", [], {}, "é \u2028 😀"]),
        "hooks": st.dictionaries(events, st.lists(groups, max_size=2), max_size=4),
        "env": st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=3),
        "statusLine": st.sampled_from(lines),
        "permissions": st.sampled_from([{}, {"allow": []}, {"allow": [RULES[1]], "deny": ["x"]}]),
    },
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A settings text in one of the ways people and programs write it."""
    found = draw(objects)
    text = json.dumps(
        {key: found[key] for key in draw(st.permutations(list(found)))},
        indent=draw(st.sampled_from([None, 2, 4, "\t", 0])),
        separators=(",", draw(st.sampled_from([":", ": ", " : "]))),
        ensure_ascii=draw(st.booleans()),
    )
    text = draw(st.sampled_from(["", "\n  "])) + text + draw(st.sampled_from(["", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


wirings = st.sampled_from([WIRED, PLAIN])
thorough = settings(max_examples=60)


@thorough
@given(texts(), wirings, wirings)
def test_taking_out_what_was_wired_in_gives_the_same_text(
    text: str, first: entries.Wiring, second: entries.Wiring
) -> None:
    """Whatever the settings are; twice is once, and an upgrade is a first install."""
    before = wiring.with_entries(text, first._replace(root="/old/root"))
    assert wiring.without_entries(before, json.loads(text)) == text
    after = wiring.with_entries(before, second)

    assert "/old/root" not in after
    assert wiring.with_entries(after, second) == after
    assert wiring.without_entries(after, json.loads(text)) == text


@thorough
@given(texts(), events, groups)
def test_hooks_added_after_installing_stay(text: str, event: str, group: dict[str, Any]) -> None:
    """What the user adds beside our entries is all that remains of them."""
    installed = wiring.with_entries(text, WIRED)
    expected = json.loads(text)
    expected.setdefault("hooks", {}).setdefault(event, []).append(group)
    if event in json.loads(installed)["hooks"]:
        edited = jsontext.with_appended(installed, ("hooks", event), group)
    else:
        edited = jsontext.with_new_member(installed, ("hooks",), event, [group])

    assert json.loads(wiring.without_entries(edited, json.loads(text))) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            {"PostToolUse": [{"matcher": "Bash", "hooks": [OTHER, *OURS["hooks"]]}]},
            [{"matcher": "Bash", "hooks": [OTHER]}, OURS],
        ),
        ({"PostToolUse": [OLD, {"hooks": OLD["hooks"] * 2}, OURS, OURS]}, [OURS]),
        ({"Elicitation": [OURS]}, [OURS]),
    ],
    ids=["moved into a narrower group", "several, of several versions", "not answered any more"],
)
def test_every_event_has_one_entry_of_ours_in_a_group_of_its_own(
    before: dict[str, Any], after: list[Any]
) -> None:
    """Merged with a hook that fires for one tool only, ours would miss the others."""
    hooks = json.loads(wiring.with_entries(json.dumps({"hooks": before}), WIRED))["hooks"]

    assert hooks["PostToolUse"] == after
    assert set(hooks) == set(table.EVENTS)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"hooks": {"Elicitation": [{"hooks": [THEIRS]}]}}),
        '{"hooks": {"Elicitation": null, "Odd": [7, {"hooks": 1}]}}',
        '{"hooks": {}, "hooks": {"X": [], "X": []}, "statusLine": 1, "statusLine": null}',
        *[json.dumps({"statusLine": line}) for line in ("date", {"command": 1}, PIPED)],
    ],
)
def test_what_is_not_ours_is_left_alone(text: str) -> None:
    """A command about brimline, or built on it; what only the client knows; duplicate keys."""
    assert not wiring.has_entries_of_ours(text)
    installed = wiring.with_entries(text, WIRED)

    line = json.loads(text).get("statusLine")
    assert line is None or json.loads(installed)["statusLine"] == line
    assert wiring.without_entries(installed, json.loads(text)) == text


@pytest.mark.parametrize("wired", [WIRED, PLAIN])
@pytest.mark.parametrize(
    "command", ["", "date", "echo 'a b' \"$HOME\"", "a\nb", "statusline", "é 😀", "x | y && z"]
)
def test_the_status_line_that_was_there_is_carried_and_comes_back(
    command: str, wired: entries.Wiring
) -> None:
    """Wrapped once, however often it is installed; its other keys are not touched."""
    line = {"type": "command", "command": command, "padding": 2}
    text = json.dumps({"statusLine": line, "a": 1}, ensure_ascii=False)
    installed = wiring.with_entries(
        wiring.with_entries(wiring.with_entries(text, wired), PLAIN), wired
    )
    wrapped = json.loads(installed)["statusLine"]

    parsed = entries.parse_our_statusline(wrapped.pop("command"))
    assert parsed is not None
    assert (parsed.wrapped, parsed.home) == (command, wired.home)
    assert wrapped == {"type": "command", "padding": 2}
    assert wiring.without_entries(installed) == text


SOURCE = {"source": {"source": "directory", "path": "/mod"}}
ON = {"brimline-mod@brimline": True, "brimline-idle@brimline": True}
MOD = {
    "extraKnownMarketplaces": {"brimline": SOURCE},
    "enabledPlugins": ON,
}


@pytest.mark.parametrize(
    ("folder", "before", "after"),
    [
        ("/mod", {}, MOD),
        ("/mod", MOD, MOD),
        (
            "/mod",
            {"enabledPlugins": {"brimline-mod@brimline": False}},
            MOD | {"enabledPlugins": ON | {"brimline-mod@brimline": False}},
        ),
        ("/mod", {"extraKnownMarketplaces": {"brimline": {"source": "old"}}}, MOD),
        (
            "/mod",
            {"extraKnownMarketplaces": {"other": 1}},
            MOD | {"extraKnownMarketplaces": {"other": 1, "brimline": SOURCE}},
        ),
        ("/mod", {"enabledPlugins": []}, MOD | {"enabledPlugins": []}),
        ("", MOD, {}),
        (
            "",
            MOD | {"enabledPlugins": ON | {"a@b": True}},
            {"enabledPlugins": {"a@b": True}},
        ),
        (None, MOD, MOD),
    ],
)
def test_the_mod_is_named_once_and_one_that_is_switched_off_stays_so(
    folder: str | None, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """From another folder it is named anew; from none it is taken out."""
    wired = json.loads(wiring.with_entries(json.dumps(before), PLAIN._replace(mod=folder)))

    assert {name: value for name, value in wired.items() if name in MOD} == after


@pytest.mark.parametrize(
    ("original", "left"),
    [({}, ["x"]), ({"permissions": {"allow": [RULES[1]]}}, ["x", RULES[1]]), (None, ["x", *RULES])],
)
def test_rules_of_earlier_versions_go(original: dict[str, Any] | None, left: list[str]) -> None:
    """Not those that were there before us, as far as that is known."""
    text = json.dumps({"permissions": {"allow": ["x", *RULES]}})
    wired = json.loads(wiring.with_entries(text, PLAIN, original))

    assert sorted(wired["permissions"]["allow"]) == sorted(left)


@pytest.mark.parametrize(
    ("hooks", "said"),
    [([], '"hooks" is not an object'), ({"Stop": {}}, '"hooks": "Stop" is not a list')],
)
def test_hooks_of_another_shape_are_refused(hooks: Any, said: str) -> None:
    """By the place, with what to do."""
    with pytest.raises(InstallError, match=f"{said}; remove it or make it"):
        wiring.with_entries(json.dumps({"hooks": hooks}), PLAIN)
    with pytest.raises(InstallError, match="not a JSON object"):
        wiring.with_entries("[]", PLAIN)
