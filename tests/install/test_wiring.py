"""The settings text with brimline wired in and taken out again."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline.errors import InstallError
from brimline.hooks import table
from brimline.install import entries, jsontext, wiring

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
    before, made = wiring.wire(text, first._replace(root="/old/root"))
    assert wiring.unwire(before, made) == text
    after, made = wiring.wire(before, second, made)

    assert "/old/root" not in after
    assert wiring.wire(after, second, made) == (after, made)
    assert json.loads(after) == json.loads(wiring.wire(text, second)[0])
    assert wiring.unwire(after, made) == text


@thorough
@given(texts(), events, groups)
def test_hooks_added_after_installing_stay(text: str, event: str, group: dict[str, Any]) -> None:
    """What the user adds beside our entries is all that remains of them."""
    installed, made = wiring.wire(text, WIRED)
    expected = json.loads(text)
    expected.setdefault("hooks", {}).setdefault(event, []).append(group)
    if event in json.loads(installed)["hooks"]:
        edited = jsontext.append_element(installed, ("hooks", event), group)
    else:
        edited = jsontext.insert_member(installed, ("hooks",), event, [group])

    assert json.loads(wiring.unwire(edited, made)) == expected


# --- hooks -------------------------------------------------------------------------------------


def test_an_entry_moved_into_a_narrower_group_gets_its_own_again() -> None:
    """Merged with a hook that fires for one tool only, ours would miss the others."""
    text, made = wiring.wire("{}", WIRED)
    settings_ = json.loads(text)
    (ours,) = settings_["hooks"]["PostToolUse"][0]["hooks"]
    settings_["hooks"]["PostToolUse"] = [{"matcher": "Bash", "hooks": [OTHER, ours]}]

    after = json.loads(wiring.wire(json.dumps(settings_), WIRED, made)[0])

    assert after["hooks"]["PostToolUse"] == [
        {"matcher": "Bash", "hooks": [OTHER]},
        {"matcher": "*", "hooks": [ours]},
    ]


def test_several_entries_of_ours_become_one() -> None:
    """Whatever copying and old versions left behind, each event has one entry afterwards."""
    text, _ = wiring.wire("{}", WIRED)
    settings_ = json.loads(text)
    (group,) = settings_["hooks"]["PostToolUse"]
    (old,) = json.loads(wiring.wire("{}", PLAIN)[0])["hooks"]["PostToolUse"]
    settings_["hooks"]["PostToolUse"] = [old, {"hooks": old["hooks"] * 2}, group, group]

    after, _ = wiring.wire(json.dumps(settings_), WIRED)

    assert json.loads(after)["hooks"]["PostToolUse"] == [group]


def test_an_event_that_a_new_version_does_not_answer_goes_with_its_container() -> None:
    """An upgrade takes out entries of events that are no longer on the list."""
    text, made = wiring.wire("{}", WIRED)
    settings_ = json.loads(text)
    settings_["hooks"]["Elicitation"] = settings_["hooks"]["PreCompact"]

    after, made = wiring.wire(json.dumps(settings_), WIRED, [*made, ("hooks", "Elicitation")])

    assert "Elicitation" not in json.loads(after)["hooks"]
    assert ("hooks", "Elicitation") not in made


def test_a_hook_that_only_mentions_brimline_is_not_ours() -> None:
    """A user's own command about brimline is never taken for an entry."""
    theirs = {"type": "command", "command": "echo from brimline.launch import main"}
    text = json.dumps({"hooks": {"Elicitation": [{"hooks": [theirs]}]}})
    installed, made = wiring.wire(text, WIRED)

    assert not wiring.has_entries(text)
    assert wiring.unwire(installed, made) == text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"hooks": null}', '"hooks"'),
        ('{"hooks": []}', '"hooks"'),
        ('{"hooks": {"PostToolUse": null}}', '"PostToolUse"'),
        ("[]", "JSON object"),
        ("{,}", "line 1, column"),
        ('{"a": 1} // note', "line 1, column"),
        ('{"n": ' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_settings_that_cannot_be_edited_are_refused_with_the_reason(text: str, named: str) -> None:
    """Each refusal names what is wrong."""
    with pytest.raises(InstallError, match=named):
        wiring.wire(text, WIRED)


def test_a_foreign_event_of_an_odd_shape_is_left_alone() -> None:
    """The client tolerates it, and it is not ours to judge."""
    text = '{"hooks": {"Elicitation": null, "Odd": [7, {"hooks": 1}]}}'
    installed, made = wiring.wire(text, WIRED)

    assert wiring.unwire(installed, made) == text


def test_of_duplicate_keys_the_one_in_force_is_edited() -> None:
    """The client reads the last one, so that is where the entries go, and from where they leave."""
    text = '{"hooks": {}, "hooks": {"X": [], "X": []}, "statusLine": 1, "statusLine": null}'
    installed, made = wiring.wire(text, WIRED)

    assert set(json.loads(installed)["hooks"]) == {
        "X",
        *table.EVENTS,
    }
    assert wiring.unwire(installed, made) == text


# --- status line -------------------------------------------------------------------------------


@pytest.mark.parametrize("wired", [WIRED, PLAIN])
@pytest.mark.parametrize(
    "command", ["", "date", "echo 'a b' \"$HOME\"", "a\nb", "statusline", "é 😀", "x | y && z"]
)
def test_the_status_line_that_was_there_is_carried_and_comes_back(
    command: str, wired: entries.Wiring
) -> None:
    """Wrapped, not replaced, whatever characters it has; its other keys are not touched."""
    line = {"type": "command", "command": command, "padding": 2}
    text = json.dumps({"statusLine": line, "a": 1}, ensure_ascii=False)
    installed, _ = wiring.wire(text, wired)
    wrapped = json.loads(installed)["statusLine"]

    parsed = entries.parse_statusline(wrapped.pop("command"))
    assert parsed is not None
    assert (parsed.wrapped, parsed.home) == (command, wired.home)
    assert wrapped == {"type": "command", "padding": 2}
    assert wiring.unwire(installed) == text


def test_wrapping_never_nests() -> None:
    """However often and wherever to it is installed, the old command is carried once."""
    text = json.dumps({"statusLine": {"type": "command", "command": "date"}})
    made: list[wiring.Path] = []
    for wired in itertools.islice(itertools.cycle([WIRED, PLAIN]), 5):
        text, made = wiring.wire(text, wired, made)

    parsed = entries.parse_statusline(json.loads(text)["statusLine"]["command"])
    assert parsed is not None
    assert parsed.wrapped == "date"


@pytest.mark.parametrize(
    "line", [None, "date", {"type": "builtin", "command": "x"}, {"command": 1}]
)
def test_a_status_line_of_a_kind_we_do_not_know_is_left_alone(line: Any) -> None:
    """Nothing is guessed about it."""
    installed, _ = wiring.wire(json.dumps({"statusLine": line}), WIRED)

    assert json.loads(installed)["statusLine"] == line


def test_a_status_line_into_which_the_user_built_ours_is_theirs() -> None:
    """Neither installing nor taking out touches a command that merely contains ours."""
    piped = entries.statusline_command(WIRED) + " | cut -c1-80"
    text = json.dumps({"statusLine": {"type": "command", "command": piped}})

    installed, made = wiring.wire(text, PLAIN)

    assert json.loads(installed)["statusLine"]["command"] == piped
    assert wiring.unwire(installed, made) == text
    assert not wiring.has_entries(text)


def test_a_status_line_replaced_by_the_user_is_wrapped_and_comes_back() -> None:
    """What was made by us is theirs once they wrote their own into it."""
    text, made = wiring.wire("{}", WIRED)
    theirs = jsontext.replace_value(text, ("statusLine", "command"), "date")
    installed, made = wiring.wire(theirs, WIRED, made)

    assert json.loads(wiring.unwire(installed, made)) == {
        "statusLine": {"type": "command", "command": "date"}
    }


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
    """With and without a record of what was added; the user's own stay."""
    wired, made = wiring.wire(text, PLAIN._replace(rules=RULES))

    allowed = json.loads(wired)["permissions"]["allow"]
    assert allowed[-2:] == list(RULES)
    assert wiring.wire(wired, PLAIN._replace(rules=RULES), made) == (wired, made)
    assert json.loads(wiring.unwire(wired, made)) == json.loads(text)
    assert json.loads(wiring.unwire(wired)) == json.loads(text)
