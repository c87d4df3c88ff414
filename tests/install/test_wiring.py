"""The settings text with brimline wired in and taken out again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline.errors import InstallError
from brimline.hooks import table
from brimline.install import entries, jsontext, wiring

if TYPE_CHECKING:
    from collections.abc import Callable

WIRED = entries.Wiring(
    "/usr/bin/python3", "/opt/brim line's/lib", "/it's/brimline", "/it's/brimline/bin/hook"
)
PLAIN = entries.Wiring("/usr/bin/python3", "/opt/lib", "/data")
OTHER = {"type": "command", "command": "theirs", "timeout": 5}

# --- settings in many shapes and spellings -----------------------------------------------------

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=6), st.just("é \u2028 😀")
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
groups = st.fixed_dictionaries(
    {"hooks": st.lists(st.just(OTHER), max_size=2)},
    optional={"matcher": st.sampled_from(["*", "Bash", ""])},
)
events = st.sampled_from([*table.EVENTS, "Elicitation", "Notification"])
hooks = st.dictionaries(events, st.lists(groups, max_size=2), max_size=4)
status_lines = st.one_of(
    st.just({"type": "command", "command": '~/line.sh --it\'s "so"', "padding": 0}),
    st.just({"type": "command", "command": ""}),
    st.just({"command": "date\nwhoami"}),
    st.just({"type": "builtin"}),
    st.none(),
)


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    """A settings object, its keys in any order."""
    found = draw(st.dictionaries(st.sampled_from(["model", "env", "x", "é"]), values, max_size=3))
    if draw(st.booleans()):
        found["hooks"] = draw(hooks)
    if draw(st.booleans()):
        found["statusLine"] = draw(status_lines)
    return {key: found[key] for key in draw(st.permutations(list(found)))}


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A settings text in one of the ways people and programs write it."""
    indent = draw(st.sampled_from([None, 2, 4, "\t", 0]))
    comma = draw(st.sampled_from([",", ", ", " , "])) if indent is None else ","
    colon = draw(st.sampled_from([":", ": ", " : "]))
    text = json.dumps(
        draw(objects()),
        indent=indent,
        separators=(comma, colon),
        ensure_ascii=draw(st.booleans()),
    )
    text = (
        draw(st.sampled_from(["", "\n", "  "])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))
    )
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


wirings = st.sampled_from([WIRED, PLAIN])
thorough = settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# --- promises ----------------------------------------------------------------------------------


@thorough
@given(texts(), wirings, wirings)
def test_taking_out_what_was_wired_in_gives_the_same_text(
    text: str, first: entries.Wiring, second: entries.Wiring
) -> None:
    """Whatever the settings are; twice is once, and an upgrade is a first install."""
    before = wiring.wire(text, first._replace(root="/old/root"))
    assert wiring.unwire(before, json.loads(text)) == text
    after = wiring.wire(before, second)

    assert "/old/root" not in after
    assert wiring.wire(after, second) == after
    assert json.loads(after) == json.loads(wiring.wire(text, second))
    assert wiring.unwire(after, json.loads(text)) == text


@thorough
@given(texts(), events, groups)
def test_hooks_added_after_installing_stay(text: str, event: str, group: dict[str, Any]) -> None:
    """What the user adds beside our entries is all that remains of them."""
    installed = wiring.wire(text, WIRED)
    expected = json.loads(text)
    expected.setdefault("hooks", {}).setdefault(event, []).append(group)
    if event in json.loads(installed)["hooks"]:
        edited = jsontext.append_element(installed, ("hooks", event), group)
    else:
        edited = jsontext.insert_member(installed, ("hooks",), event, [group])

    assert json.loads(wiring.unwire(edited, json.loads(text))) == expected


# --- hooks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups_before", "groups_after"),
    [
        (lambda ours, _: [{"matcher": "Bash", "hooks": [OTHER, *ours["hooks"]]}], True),
        (lambda ours, old: [old, {"hooks": old["hooks"] * 2}, ours, ours], False),
    ],
    ids=["moved into a narrower group", "several, of several versions"],
)
def test_every_event_has_one_entry_of_ours_in_a_group_of_its_own(
    groups_before: Callable[..., list[Any]], groups_after: bool
) -> None:
    """Merged with a hook that fires for one tool only, ours would miss the others."""
    found = json.loads(wiring.wire("{}", WIRED))
    (ours,) = found["hooks"]["PostToolUse"]
    (old,) = json.loads(wiring.wire("{}", PLAIN))["hooks"]["PostToolUse"]
    found["hooks"]["PostToolUse"] = groups_before(ours, old)

    after = json.loads(wiring.wire(json.dumps(found), WIRED))["hooks"]["PostToolUse"]

    assert after == [{"matcher": "Bash", "hooks": [OTHER]}] * groups_after + [ours]


def test_an_event_that_a_new_version_does_not_answer_goes_with_its_container() -> None:
    """An upgrade takes out entries of events that are no longer on the list."""
    found = json.loads(wiring.wire("{}", WIRED))
    found["hooks"]["Elicitation"] = found["hooks"]["PreCompact"]

    assert "Elicitation" not in json.loads(wiring.wire(json.dumps(found), WIRED))["hooks"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"hooks": null}', '"hooks"'),
        ('{"hooks": []}', '"hooks"'),
        ('{"hooks": {"PostToolUse": null}}', '"PostToolUse"'),
        ("[]", "JSON object"),
        ("{,}", "line 1, column"),
        ('{"a": 1} // note', "line 1, column"),
    ],
)
def test_settings_that_cannot_be_edited_are_refused_with_the_reason(text: str, named: str) -> None:
    """Each refusal names what is wrong."""
    with pytest.raises(InstallError, match=named):
        wiring.wire(text, WIRED)


THEIRS = {"type": "command", "command": "echo from brimline.launch import main"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"hooks": {"Elicitation": [{"hooks": [THEIRS]}]}}),
        '{"hooks": {"Elicitation": null, "Odd": [7, {"hooks": 1}]}}',
        '{"hooks": {}, "hooks": {"X": [], "X": []}, "statusLine": 1, "statusLine": null}',
    ],
    ids=["only mentions us", "odd shapes", "duplicate keys"],
)
def test_what_is_not_ours_is_left_alone(text: str) -> None:
    """A command about brimline, what the client tolerates; the last of duplicate keys counts."""
    assert not wiring.has_entries(text)
    installed = wiring.wire(text, WIRED)

    assert set(json.loads(installed)["hooks"]) >= set(table.EVENTS)
    assert wiring.unwire(installed, json.loads(text)) == text


# --- status line -------------------------------------------------------------------------------


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
    installed = wiring.wire(wiring.wire(wiring.wire(text, wired), PLAIN), wired)
    wrapped = json.loads(installed)["statusLine"]

    parsed = entries.parse_statusline(wrapped.pop("command"))
    assert parsed is not None
    assert (parsed.wrapped, parsed.home) == (command, wired.home)
    assert wrapped == {"type": "command", "padding": 2}
    assert wiring.unwire(installed) == text


PIPED = {"type": "command", "command": entries.statusline_command(WIRED) + " | cut -c1-80"}


@pytest.mark.parametrize(
    "line", [None, "date", {"type": "builtin", "command": "x"}, {"command": 1}, PIPED]
)
def test_a_status_line_of_a_kind_we_do_not_know_is_left_alone(line: Any) -> None:
    """Nor is one touched into which the user built ours."""
    text = json.dumps({"statusLine": line})
    installed = wiring.wire(text, PLAIN)

    assert json.loads(installed)["statusLine"] == line
    assert not wiring.has_entries(text)
    assert wiring.unwire(installed, {"statusLine": line}) == text


def test_a_status_line_of_a_weaker_scope_is_carried_and_does_not_stay() -> None:
    """One that only hid another goes as a whole."""
    installed = wiring.wire("{}", PLAIN, "date")

    parsed = entries.parse_statusline(json.loads(installed)["statusLine"]["command"])
    assert parsed is not None
    assert parsed.wrapped == "date"
    assert json.loads(wiring.unwire(installed, {})) == {}


RULES = ("Bash(brimline store get:*)", "mcp__brimline__recall")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"permissions": {"deny": ["Bash(rm:*)"]}}',
        '{"permissions": {"allow": ["Bash(ls:*)"]}}',
    ],
)
def test_permission_rules_are_added_and_taken_out_again(text: str) -> None:
    """With and without knowing what was there; the user's own stay."""
    wired = wiring.wire(text, PLAIN._replace(rules=RULES))

    assert json.loads(wired)["permissions"]["allow"][-2:] == list(RULES)
    assert wiring.wire(wired, PLAIN._replace(rules=RULES)) == wired
    assert wiring.unwire(wired, json.loads(text)) == text
    assert json.loads(wiring.unwire(wired)) == json.loads(text)
    theirs = {"permissions": {"allow": [RULES[1], "x"]}}
    both = wiring.wire(json.dumps(theirs), PLAIN._replace(rules=RULES))
    assert json.loads(wiring.unwire(both, theirs)) == theirs
