"""The list of settings and what each one takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline import models
from brimline.settings.catalogue import BY_KEY, SETTINGS, Setting
from brimline.settings.values import _MOST_DIGITS, _MOST_TIERS, check_and_complete_model, coerce

LIMIT, TIERS = 10**_MOST_DIGITS, _MOST_TIERS
toml_values = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
accepted: list[tuple[str, Any, Any]] = [
    ("context_window", 200_000, 200_000),
    ("context_window", "1_000_000", 1_000_000),
    ("compaction_tokens", " 155000 ", 155_000),
    ("guard.preset", "off", "off"),
    ("guard.preset", " default ", "default"),
    ("guard.tiers", [40, 20, 10, 5], [40, 20, 10, 5]),
    ("guard.tiers", "40,20,10,5", [40, 20, 10, 5]),
    ("guard.tiers", "[40, 20.5, 10, 0]", [40, 20.5, 10, 0]),
    ("guard.tiers", [80], [80]),
    ("guard.tiers", "70, 80, 90", [70, 80, 90]),
    ("guard.velocity_points", "2.5", 2.5),
    ("guard.velocity_points", 0, 0),
    ("guard.recovery_skills", "continue, handoff,", ["continue", "handoff"]),
    ("guard.recovery_skills", [], []),
    ("statusline.format", "tier,cost", ["tier", "cost"]),
    ("carry.enabled", "Yes", True),
    ("carry.enabled", False, False),
    ("reminder.file", "~/notes.md", "~/notes.md"),
    ("reminder.every", "5", 5),
    ("guard.velocity_points", 100, 100),
    ("reminder.every", 0, 0),
    ("store.max_mb", 1, 1),
]
PRICES = dict.fromkeys(models.PRICE_NAMES, 0)
# Fields of a user's row of models, with values that they take and values that they refuse.
fields: dict[str, tuple[list[Any], list[Any]]] = {
    "families": ([["opus"], ["opus", "mythos"]], [[], ["opus", 5]]),
    "versions": ([["6"], ["6.1", "7"]], [[], "6", ["6", "new"], [6]]),
    "window_tokens": ([1, LIMIT - 1], [0, -1, 1.5, LIMIT, True, "5"]),
    "output_tokens": ([1], [0, 1.5]),
    "compacts_up_to_tokens": ([0, 1], [-1, 0.5]),
    "characters_per_token": ([3.5, 4], [0, -1.5, True]),
    "binds_thinking": ([True, False], [0, "yes"]),
    "prices": (
        [PRICES, PRICES | {"input": 2.5}],
        [5, {}, PRICES | {"tokens": 5}, PRICES | {"input": -1}, PRICES | {"input": LIMIT}],
    ),
    "prices_above": (
        [PRICES | {"tokens": 200_000}],
        [PRICES, {"tokens": 5}, PRICES | {"tokens": "5"}],
    ),
    "colour": ([], ["red"]),
}
refused: dict[str, list[Any]] = {
    "context_window": [0, -5, 12, True, 1.5, "many", "²", 10**400, "9" * 5_000],
    "guard.preset": ["loud", 5],
    "guard.tiers": [
        *([], list(range(TIERS + 1)), [30, 15, 15, 3], [LIMIT], [30, 15, 7, -3], [30, 15, 7, "x"]),
        *([True, 15, 7, 3], "inf,15,7,3", "nan,15,7,3", [float("inf"), 15, 7, 3]),
        *([10**400, 15, 7, 3], {"a": 1}),
    ],
    "guard.velocity_points": [-1, "fast", float("nan"), 10**400],
    "guard.recovery_skills": [[1], 5],
    "statusline.format": ["foo", ["tier", "foo"], 5],
    "store.max_mb": [0, -1, 0.5, "x"],
    "carry.enabled": [2, "maybe", []],
    "reminder.file": ["", "/a\0b", 5, "notes.md", "../notes.md", "~dev/x"],
    "reminder.every": [1.5, -1],
}


@pytest.mark.parametrize(("key", "raw", "value"), accepted)
def test_values_are_taken_from_files_and_from_text(key: str, raw: Any, value: Any) -> None:
    """A file gives numbers and lists, the environment gives texts; both mean the same."""
    assert coerce(BY_KEY[key], raw) == value


@pytest.mark.row("S0-15")
@pytest.mark.parametrize("key", refused)
def test_wrong_values_are_refused_with_what_is_taken(key: str) -> None:
    """The phrase says what the setting takes."""
    for raw in refused[key]:
        with pytest.raises(ValueError, match=r"^takes "):
            coerce(BY_KEY[key], raw)


@given(key=st.sampled_from(sorted(BY_KEY)), raw=toml_values)
@settings(max_examples=400)
def test_any_value_is_taken_or_refused(key: str, raw: Any) -> None:
    """Nothing but ValueError comes out, and what is taken is taken again unchanged."""
    try:
        value = coerce(BY_KEY[key], raw)
    except ValueError:
        return

    assert coerce(BY_KEY[key], value) == value


def test_every_default_is_a_value_the_setting_takes() -> None:
    """Only "unset" is exempt, and each setting says what it is for."""
    for setting in SETTINGS:
        assert setting.default is None or coerce(setting, setting.default) == setting.default
        assert setting.doc.endswith(".")


def test_the_defaults_are_those_that_the_documentation_tells() -> None:
    """Kind, default and variable of each, as `docs/reference/settings.md` has them."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text("utf-8")
    for setting in SETTINGS:
        default = "unset" if setting.default is None else f"`{setting.default}`"
        variable = f"`{setting.variable}`" if setting.project else "no"
        told = f"Kind: {setting.kind}. Default: {default}. Environment: {variable}."

        assert f"{setting.doc}" in page
        assert told in page.partition(f"## `{setting.key}`")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("key", "raw", "said"),
    [
        ("context_window", 999, "takes a whole number of tokens, 1,000 or above"),
        ("compaction_tokens", 999, "takes a whole number of tokens, 1,000 or above"),
        ("guard.ceiling_percent", 400, "takes a number from 0 to 100"),
        ("guard.gate_tools", "Foo", "takes a list of texts out of Skill, Agent, Task, Skill:warn"),
        ("memory.exclude", "foo,/bar", "takes a list of folders that begin with /, ~ or *"),
        ("store.max_mb", 0, "takes a number, 1 or above"),
        ("guard.velocity_points", -1, "takes a number, 0 or above"),
        ("reminder.every", 1.5, "takes a whole number, 0 or above"),
        ("offload.preset", "x", "takes one of default, off"),
        ("offload.never", 1, "takes a list of texts"),
        ("statusline.format", "x", "takes a list of texts out of forecast, tier, used, model, "),
        ("carry.enabled", 1, "takes true or false"),
        ("reminder.file", "", "takes a path that begins with / or ~/"),
        ("memory.url", "https://host/c", "takes an address such as qdrant+https://host/collection"),
        ("guard.tiers", [], "takes one to nine different numbers, such as [30, 15, 7, 3]"),
    ],
)
def test_a_refusal_says_what_the_setting_takes(key: str, raw: Any, said: str) -> None:
    """With the least of a number, and the words there are."""
    with pytest.raises(ValueError, match="takes") as raised:
        coerce(BY_KEY[key], raw)

    assert str(raised.value).startswith(said)
    assert coerce(BY_KEY["context_window"], 1_000)
    assert coerce(BY_KEY["memory.exclude"], "*/x,~,/")


@pytest.mark.parametrize("setting", [each for each in SETTINGS if each.kind == "flag"])
def test_a_flag_takes_the_usual_words(setting: Setting) -> None:
    """Whatever their case."""
    words = {True: ("true", "1", " YES ", "on", True), False: ("False", "0", "no", "off", False)}

    assert all(coerce(setting, word) is meant for meant in words for word in words[meant])


def test_there_are_few_enough_settings_to_read() -> None:
    """Thirty at most, each with a use that somebody can name."""
    assert len(SETTINGS) <= 30


@pytest.mark.parametrize("field", fields)
def test_a_row_of_models_takes_what_its_fields_are_about(field: str) -> None:
    """What it does not name is that of the nearest model; a value of another kind is refused."""
    row = {"families": ["haiku"]}
    taken, refused_values = fields[field]
    for value in taken:
        completed = check_and_complete_model(row | {field: value})

        assert completed[field] == value
        assert completed.keys() == models.UNKNOWN.keys()
    for value in refused_values:
        with pytest.raises(ValueError, match=f"cannot have {field} = "):
            check_and_complete_model(row | {field: value})


@pytest.mark.parametrize("row", [5, {}, {"families": "opus"}])
def test_a_row_of_models_needs_the_names_that_it_is_about(row: Any) -> None:
    """A list of words."""
    with pytest.raises(ValueError, match="needs families"):
        check_and_complete_model(row)


def test_a_row_of_models_is_completed_by_the_first_family_and_version_that_it_names() -> None:
    """As the model would be taken for without the row."""
    haiku, opus = (models.lookup_model(name).row for name in ("haiku", "opus"))
    assert haiku["prices"] != opus["prices"]

    assert check_and_complete_model({"families": ["haiku", "opus"]})["prices"] == haiku["prices"]
    assert check_and_complete_model({"families": ["opus", "haiku"]})["prices"] == opus["prices"]
    assert check_and_complete_model({"families": ["new"]})["prices"] == models.UNKNOWN["prices"]


@pytest.mark.parametrize(
    ("key", "taken", "too_much"),
    [
        ("context_window", LIMIT - 1, LIMIT),
        ("compaction_tokens", LIMIT - 1, LIMIT),
        ("guard.velocity_points", 100, 100.5),
        ("offload.inline_bytes", LIMIT - 1, LIMIT),
        ("guard.tiers", [LIMIT - 1], [LIMIT]),
        ("guard.tiers", [*range(TIERS)], [*range(TIERS + 1)]),
        ("guard.tiers", ",".join(map(str, range(TIERS))), ",".join(map(str, range(TIERS + 1)))),
    ],
)
def test_a_number_has_some_digits_and_a_ladder_some_tiers(
    key: str, taken: Any, too_much: Any
) -> None:
    """One more is refused."""
    assert coerce(BY_KEY[key], taken)
    with pytest.raises(ValueError, match="takes"):
        coerce(BY_KEY[key], too_much)


@pytest.mark.parametrize("field", ["window_tokens", "compacts_up_to_tokens"])
def test_a_figure_of_a_row_of_models_has_some_digits(field: str) -> None:
    """And zero is one only where it says that the client compacts nothing by itself."""
    row = {"families": ["haiku"]}
    assert check_and_complete_model(row | {field: LIMIT - 1})[field] == LIMIT - 1
    with pytest.raises(ValueError, match="cannot have"):
        check_and_complete_model(row | {field: LIMIT})
    if field == "compacts_up_to_tokens":
        assert check_and_complete_model(row | {field: 0})[field] == 0
    else:
        with pytest.raises(ValueError, match="cannot have"):
            check_and_complete_model(row | {field: 0})


def test_a_list_takes_every_word_that_there_is() -> None:
    """All at once, some, or none."""
    setting = BY_KEY["statusline.format"]
    for words in ([*setting.choices], [*setting.choices[:-1]], []):
        assert coerce(setting, words) == coerce(setting, ",".join(words)) == words
