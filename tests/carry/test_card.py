"""The texts around a compaction: order, limits, nothing twice, nothing false."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.carry import card, ledger
from brimline.hooks.entry import respond
from brimline.testing import SessionBuilder, event

if TYPE_CHECKING:
    from collections.abc import Callable


def record(**fields: object) -> ledger.Ledger:
    """A ledger that holds something."""
    made = ledger.Ledger("s")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def say(made: ledger.Ledger, *texts: str) -> None:
    """Messages of the user, the last one last."""
    for number, text in enumerate(texts, len(made.messages)):
        ledger.add_message(made, text, f"2026-01-01T00:00:{number % 60:02d}.{number}Z", "prompt")


def test_the_order_is_notes_rules_state_messages_newest_first() -> None:
    """The text opens by saying what it is, and that later messages win."""
    made = record(
        tasks={"1": ["in_progress", "Ship it"], "2": ["completed", "Plan it"]},
        plan="/plans/x.md",
        branch="main",
        commits=[["1111111", "first"]],
        checks={"pytest": {"command": "pytest -q", "result": "failed", "end": "1 failed"}},
        changed={"/p/src/a.py": 1, "/p/src/b.py": 1, "/p/c.md": 1},
        folder="/p",
    )
    ledger.add_or_renew_note(made, ledger.KEEP, "Port 5433", None)
    say(made, "never push to main", "you may push to dev")

    text = card.card_text(made, [["CLAUDE.md", "Sign builds. (CRITICAL)"]])

    assert text.startswith(card.OPENING)
    assert "the later one wins" in card.OPENING
    wanted = (
        *("- keep: Port 5433", "- Sign builds. (CRITICAL) (CLAUDE.md)", "- in progress: Ship it"),
        *("- completed: Plan it", "- /plans/x.md", "- branch main", "1111111 first"),
        *("- `pytest -q`: failed, ended: 1 failed", "- c.md", "- src/: b.py, a.py"),
        *("- you may push to dev", "- never push to main"),
    )
    places = [text.index(line) for line in wanted]
    assert places == sorted(places)
    assert "Git:" not in card.card_text(record(branch="HEAD", plan="x"))


@pytest.mark.parametrize(
    ("message", "summary", "is_held"),
    [
        ("ok", "a book, okay", False),
        ("ok", "a book: ok.", True),
        ("ok", "ok", True),
        ("ok", "ok_1 _ok", True),
        ("I, too", "AI, too", False),
        ("so do I", "so do It", False),
        ("(yes)", "no(yes)no", True),
        ("two\n  lines", "the two lines.", True),
        ("x" * 601, "x" * 600 + " and so on", True),
        ("", "anything", True),
        ("snake", "snake_case", True),
        ("ab " * 200, "ab " * 100_000 + "ab", True),
        ("(ab" * 200, "(ab" * 100_000 + "c", True),
        ("(a" * 299 + ")", "(a" * 150_000, False),
    ],
)
def test_a_summary_holds_a_message_only_as_words_of_their_own(
    message: str, summary: str, is_held: bool
) -> None:
    """`ok` is not in `book`; of a long message its beginning counts."""
    assert card.does_summary_hold({"text": message}, card.mark_words(summary)) is is_held


def test_what_does_not_fit_gives_way_the_oldest_message_first() -> None:
    """Then the state; notes and the newest messages stay."""
    made = record(
        commands={
            str(at): {"line": f"make target-{at} {'x' * 100}", "first": "a", "last": "b"}
            for at in range(16)
        }
    )
    ledger.add_or_renew_note(made, ledger.KEEP, "Port 5433", None)
    say(made, *[f"message {number:03d} " + "word " * 100 for number in range(60)])

    text = card.card_text(made)
    small = card.card_text(made, budget=1_500)

    assert len(text) <= card.BUDGET_CHARACTERS
    assert len(small) <= 1_500
    assert "message 059" in text
    assert "message 000" not in text
    assert "older ones are left out; `brimline carry show` has all]" in text
    shown = [int(line[10:13]) for line in text.split("\n") if line.startswith("- message")]
    assert shown == list(range(59, 59 - len(shown), -1))
    assert "Port 5433" in small


def test_a_long_message_is_its_first_600_characters() -> None:
    """A paste says how much there was of it."""
    made = ledger.Ledger("s")
    say(made, "a" * 1_000, "first line\n" + "x\n" * 50)

    text = card.card_text(made)

    assert f"\n- {'a' * 600}…" in text
    assert "\n- first line [first line of 111 characters]" in text


def test_many_marked_rules_become_a_line_per_file() -> None:
    """The client reloads these files by itself."""
    rules = [["CLAUDE.md", f"Rule {number} {'x' * 80}"] for number in range(10)]
    text = card.card_text(ledger.Ledger("s"), [*rules, ["docs/rules.md", "One more"]])

    assert "- 10 marked in CLAUDE.md" in text
    assert "- 1 marked in docs/rules.md" in text
    assert "Rule 3" not in text


@pytest.mark.row("S3-83")
def test_instructions_are_short_and_hold_six_topics_and_marked_notes() -> None:
    """And they ask for rules and corrections word for word."""
    made = ledger.Ledger("s")
    ledger.add_or_renew_note(made, ledger.DECIDE, "signed cookies", None)
    say(made, "a message is not repeated here")

    text = card.summary_instructions(made)

    topics = ("task and its objectives", "decisions", "file paths", "still to be done", "errors")
    assert all(topic in text for topic in (*topics, "critical state"))
    assert "Quote word for word every message of the user that sets a rule" in text
    assert "- decided: signed cookies" in text
    assert "a message is not repeated" not in text
    assert len(text) <= 1_500


def test_notes_in_the_instructions_are_whole_and_fill_them_to_the_limit() -> None:
    """An old note that is one character too long is left out, not cut."""

    def told(*notes: str) -> str:
        made = ledger.Ledger("s")
        for note in notes:
            ledger.add_or_renew_note(made, ledger.KEEP, note, None)
        return card.summary_instructions(made)

    newer = ["a" * 200, "b" * 200, "c" * 200]
    left = 1_500 - len(told(*newer)) - len("\n- keep: ")

    assert len(told("o" * left, *newer)) == 1_500
    assert told("o" * (left + 1), *newer) == told(*newer)


@pytest.mark.row("S3-83")
def test_before_a_compaction_the_summary_is_told_what_to_keep(
    session: SessionBuilder, home_dir: str
) -> None:
    """By the hook itself, in these words."""
    session.reply(150_000)
    payload = event("PreCompact", session, trigger="auto", custom_instructions="")

    told = respond("PreCompact", json.dumps(payload).encode(), home_dir).decode()

    assert told.startswith(
        "In the summary keep: the task and its objectives in the user's own words; decisions, "
        "why, and options rejected; exact file paths; what is still to be done, in order; errors "
        "and whether they are resolved; critical state: names, numbers, commands. Quote word for "
        "word every message of the user that sets a rule or corrects you. Be brief on completed "
        "work."
    )


def test_the_users_own_instructions_replace_ours_and_are_not_cut() -> None:
    """Up to what the client passes on."""
    own = "Keep the names of all ships. " * 300
    made = ledger.Ledger("s")
    ledger.add_or_renew_note(made, ledger.KEEP, "Port 5433", None)

    text = card.summary_instructions(made, own)

    assert text.startswith(own.strip())
    assert card.INSTRUCTIONS not in text
    assert "Port 5433" in text
    assert len(card.summary_instructions(made, "x" * 20_000)) == 10_000


@given(st.lists(st.text(max_size=900), max_size=40), st.lists(st.text(max_size=300), max_size=12))
def test_no_line_comes_twice_and_the_limit_holds(messages: list[str], notes: list[str]) -> None:
    """Whatever was said."""
    made = ledger.Ledger("s")
    say(made, *[text for text in messages if text.strip()])
    for text in notes:
        ledger.add_or_renew_note(made, ledger.KEEP, text, None)

    text = card.card_text(made)

    lines = [line.strip() for line in text.split("\n") if len(line.strip()) >= 20]
    assert len(lines) == len(set(lines))
    assert len(text) <= card.BUDGET_CHARACTERS
    assert len(card.summary_instructions(made)) <= 1_500


def test_paths_of_windows_are_grouped_and_shortened_too() -> None:
    """By folder, from the project's; the latest first."""
    paths = ("C:\\p\\src\\a.py", "D:\\x\\b.txt", "C:\\p\\src\\c.py", "C:\\p\\d.md")
    text = card.card_text(record(folder="C:\\p", changed=dict.fromkeys(paths, 1)))

    assert text.partition("latest first:\n")[2].split("\n") == [
        "- d.md",
        "- src\\: c.py, a.py",
        "- D:\\x\\: b.txt",
    ]


def test_a_card_names_what_was_done_with_it_and_what_is_left_out() -> None:
    """A tier that was announced, a save that failed, a beginning that was not read."""
    made = record(branch="topic", subagents=1, unread_bytes=2_400_000)
    plain = card.card_text(record(branch="topic"))

    text = card.card_text(made, incomplete=True, outdated=True)

    assert plain.startswith(f"{card.OPENING}\n\nGit:\n- branch topic")
    assert "What brimline said of context tiers" in text
    assert "this may be incomplete" in text
    assert "2 MB before that were not read" in text
    assert "Subagents ran too" in text
    assert "Subagents ran too" not in plain
    assert card.card_text(record(branch="HEAD")) == ""
    assert "1 MB before" in card.card_text(record(branch="b", unread_bytes=10))


def test_tasks_are_told_by_their_state_and_those_that_are_done_in_one_line() -> None:
    """The last one that was completed comes first."""
    tasks = {"1": ["completed", "a"], "2": ["pending", "b"], "3": ["in_progress", "c"]}
    text = card.card_text(record(tasks=tasks | {"4": ["completed", "d"]}))

    assert "Tasks:\n- in progress: c\n- pending: b\n- completed: d; a" in text


def test_checks_commands_and_commits_are_told_the_latest_first() -> None:
    """With how a check ended; a command that ran once only is not listed."""
    made = record(
        checks={
            "a": {"command": "pytest -q 2>&1", "result": "failed", "end": "1 failed"},
            "b": {"command": "mypy", "result": "passed", "edited": True},
        },
        commands={
            "x": {"line": "make docs", "first": "1", "last": "2"},
            "y": {"line": "make once", "first": "1", "last": "1"},
            "z": {"line": "serve", "first": "1", "last": "3", "background": True},
        },
        commits=[["1234567", "First"], ["abcdef0", "Second"]],
        pulls=["https://example.com/pull/1"],
        worked=[["deploy --right", "deploy --wrong"]],
    )

    text = card.card_text(made)

    assert "- `mypy`: passed, before later edits\n- `pytest -q`: failed, ended: 1 failed" in text
    assert "without an error:\n- `serve` (in the background)\n- `make docs`" in text
    assert "make once" not in text
    assert "latest first: abcdef0 Second; 1234567 First" in text
    assert "- pull request made here: https://example.com/pull/1" in text
    assert "had failed:\n- `deploy --right`" in text


def test_after_a_compaction_without_a_model_the_card_counts_what_was_moved_out() -> None:
    """And holds what a person pinned or noted, since nothing else was taken away."""
    made = ledger.Ledger("s")
    ledger.add_or_renew_note(made, ledger.KEEP, "of the user", None)
    ledger.add_or_renew_note(made, ledger.KEEP, "Port 5433", None, "person")

    alone = card.card_text_after_lossless_compaction(ledger.Ledger("s"), {"results": 1})
    both = card.card_text_after_lossless_compaction(
        made, {"results": 2, "inputs": 1}, pinned=[["a pin"]]
    )
    inputs = card.card_text_after_lossless_compaction(made, {"inputs": 2})

    assert "Moved out: 1 old result." in alone
    assert len(alone.split("\n")) == 2
    assert "Moved out: 2 old results, and the middle of 1 long input." in both
    assert both.split("\n")[2:] == ["Still in force:", "- a pin", "- keep: Port 5433"]
    assert "Moved out: 0 old results, and the middle of 2 long inputs." in inputs


def test_of_what_is_pinned_as_much_is_shown_as_there_is_room_for() -> None:
    """How much more there is, is said."""
    texts = [f"{number} " + "x" * 280 for number in range(6)]

    text = card.card_text(record(branch="b"), pinned=[texts, ["short"]])

    shown = text.partition("Pinned in the budget:\n")[2].partition("\n\n")[0].split("\n")
    assert [line[:3] for line in shown] == ["- 0", "- 1", "- 2", "- 3", "- [", "- s"]
    assert shown[4] == "- [2 more: `context_budget` lists them]"


def test_a_message_that_stands_in_a_later_one_is_not_shown_again() -> None:
    """If it is long enough not to do so by chance."""
    made = ledger.Ledger("s")
    short, long = "x" * 39, "y" * 40
    say(made, short, long, f"{short} and {long} again")

    text = card.card_text(made)

    assert text.count(long) == 1
    assert text.count(short) == 2


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("prompt", "- text"),
        ("answer", "- (answer) text"),
        ("refusing Bash", "- (refusing Bash) text"),
    ],
)
def test_an_answer_or_a_refusal_is_marked_as_one(kind: str, shown: str) -> None:
    """All else of the user's is a message."""
    made = ledger.Ledger("s")
    ledger.add_message(made, "text", None, kind)

    assert card.card_text(made).endswith(shown)


@pytest.mark.parametrize(
    ("most", "fields"),
    [
        (20, lambda text: {"tasks": {"1": [text, "a task"]}}),
        (130, lambda text: {"tasks": {"1": ["pending", text]}}),
        (60, lambda text: {"tasks": {"1": ["completed", text]}}),
        (200, lambda text: {"plan": text}),
        (12, lambda text: {"commits": [[text, "subject"]]}),
        (70, lambda text: {"commits": [["1234567", text]]}),
        (90, lambda text: {"checks": {"a": {"command": text, "result": "failed"}}}),
        (60, lambda text: {"checks": {"a": {"command": "make", "result": text}}}),
        (80, lambda text: {"checks": {"a": {"command": "x", "result": "failed", "end": text}}}),
        (130, lambda text: {"commands": {"a": {"line": text, "first": 1, "last": 2}}}),
        (130, lambda text: {"worked": [[text, "before"]]}),
        (400, lambda text: {"changed": {text: 1}}),
        (601, lambda text: {"notes": {"1": {"kind": "keep", "text": text}}}),
    ],
)
def test_what_is_told_of_one_thing_has_its_most_characters(
    most: int, fields: Callable[[str], dict[str, object]]
) -> None:
    """What is longer is cut, and says so."""
    whole, longer = [card.card_text(record(**fields("x" * length))) for length in (most, most + 1)]

    assert "x" * most in whole
    assert f"{'x' * (most - 1)}…" in longer


@pytest.mark.parametrize(
    "fields",
    [
        lambda last: {
            "tasks": {str(n): ["pending", "x" * 108] for n in range(4)}
            | {"last": ["pending", "y" * (107 + last)]}
        },
        lambda last: {"pulls": ["y" * (195 + last), "x" * 200]},
        lambda last: {
            "notes": {
                str(at): {"kind": "keep", "text": text}
                for at, text in enumerate(("y" * (490 + last), "x" * 491, "x" * 491))
            }
        },
        lambda last: {
            "checks": {
                text: {"command": text, "result": "passed"}
                for text in ("y" * (86 + last), *[str(n) + "x" * 86 for n in range(4)])
            }
        },
        lambda last: {
            "changed": dict.fromkeys(
                [f"f0/{'y' * (91 + last)}", *[f"f{n}/{'x' * 92}" for n in range(1, 5)]], 1
            )
        },
        lambda last: {
            "read": dict.fromkeys(
                [f"f0/{'y' * (91 + last)}", *[f"f{n}/{'x' * 92}" for n in range(1, 3)]], 1
            )
        },
    ],
    ids=["tasks", "git", "notes", "checks", "changed", "read"],
)
def test_each_part_of_a_card_has_its_room(fields: Callable[[int], dict[str, object]]) -> None:
    """A line that needs one character more than there is gives way."""
    fits, is_too_long = [card.card_text(record(**fields(last))) for last in (1, 2)]

    assert "yyy" in fits
    assert "yyy" not in is_too_long
    assert "xxx" in is_too_long


def test_eight_repeated_commands_and_three_that_worked_are_told() -> None:
    """The latest of each."""
    commands = {str(n): {"line": f"run {n}.", "first": 1, "last": 2} for n in range(10)}
    text = card.card_text(record(commands=commands, worked=[[f"try {n}.", "x"] for n in range(5)]))

    assert [n for n in range(10) if f"`run {n}.`" in text] == list(range(2, 10))
    assert [n for n in range(5) if f"`try {n}.`" in text] == [2, 3, 4]


def test_a_title_has_a_line_under_it_or_is_left_out() -> None:
    """Where there is room for the first of two lines, that is told."""
    plan = record(plan="p" * 150)
    tasks = record(tasks={"1": ["pending", "first"], "2": ["pending", "s" * 100]})
    budget = len(card.OPENING) + 40

    assert card.card_text(plan, budget=budget) == ""
    assert card.card_text(tasks, budget=budget) == f"{card.OPENING}\n\nTasks:\n- pending: first"


@pytest.mark.parametrize(
    ("unread", "told"), [(1, "1 MB"), (1_000_000, "1 MB"), (3_400_000, "3 MB")]
)
def test_what_was_not_read_is_told_in_megabytes(unread: int, told: str) -> None:
    """At least one."""
    text = card.card_text(record(plan="x", unread_bytes=unread))

    assert f": {told} before that were not read." in text


def test_the_users_own_instructions_have_what_the_client_lets_through() -> None:
    """Ten thousand characters."""
    whole, cut = [card.summary_instructions(record(), "x" * size) for size in (10_000, 10_001)]

    assert whole == "x" * 10_000
    assert cut == "x" * 9_999 + "…"


def test_of_what_is_pinned_each_text_has_three_hundred_characters() -> None:
    """In the card and after a compaction without a model."""
    made = record(plan="x")
    for text, shown in (("p" * 300, "p" * 300), ("p" * 301, "p" * 299 + "…")):
        assert f"\n- {shown}\n" in card.card_text(made, pinned=[[text]])
        assert card.card_text_after_lossless_compaction(
            made, {"results": 1}, pinned=[[text]]
        ).endswith(f"- {shown}")


@pytest.mark.parametrize(
    ("length", "told"), [(794, f"- {'r' * 794} (F)"), (795, "- 1 marked in F")]
)
def test_marked_rules_are_told_whole_up_to_eight_hundred_characters(length: int, told: str) -> None:
    """With their files; beyond that the files are named, which the client reloads."""
    text = card.card_text(record(), [["F", "r" * length]])

    assert text.endswith(f"Rules that are always in force:\n{told}")


@pytest.mark.parametrize(("size", "is_shown"), [(403, True), (404, False)])
def test_messages_take_six_thousand_characters_at_most(size: int, is_shown: bool) -> None:
    """Of which a line is kept free for how many are left out."""
    made = record()
    say(made, "o" * size, *(str(number) * 600 for number in range(9)))

    text = card.card_text(made)

    assert ("o" * size in text) is is_shown
    assert ("[1 older ones are left out; `brimline carry show` has all]" in text) is not is_shown


def test_of_a_long_message_its_first_six_hundred_characters_are_shown() -> None:
    """And that there is more; one character more takes no more room than to say so."""
    for size, shown in ((601, "x" * 601), (602, "x" * 600 + "…")):
        made = record()
        say(made, "x" * size)
        assert card.card_text(made).endswith(f"newest first:\n- {shown}")


def test_the_state_takes_two_thousand_characters_at_most() -> None:
    """What comes last gives way, line by line."""
    made = record(
        tasks={str(number): ["pending", f"{number}" * 100] for number in range(6)},
        commits=[[str(number) * 7, "x" * 60] for number in range(9)],
        checks={name: {"command": name * 80, "result": "passed"} for name in "abcdef"},
        changed={f"/{name}/{name * 40}.py": 1 for name in "abcdefghi"},
        commands={
            name: {"line": name * 100, "first": "1", "last": "2", "background": False}
            for name in "abcdefgh"
        },
    )
    sizes = []
    for size in range(1, 150):
        made.plan = "p" * size
        sizes.append(len(card.card_text(made)) - len(card.OPENING))

    assert max(sizes) == 2_000


@pytest.mark.parametrize(("size", "is_shown"), [(288, True), (289, False)])
def test_a_compartments_pins_take_twelve_hundred_characters(size: int, is_shown: bool) -> None:
    """The rest of them is counted."""
    pinned = [[*("abc"[number] * 300 for number in range(3)), "o" * size]]

    text = card.card_text(record(), pinned=pinned)

    assert ("o" * size in text) is is_shown
    assert ("- [1 more: `context_budget` lists them]" in text) is not is_shown


@pytest.mark.parametrize(("size", "line"), [(794, f"- {'r' * 794} (f)"), (795, "- 1 marked in f")])
def test_rules_of_more_than_eight_hundred_characters_are_counted(size: int, line: str) -> None:
    """By file: the client loads it again."""
    assert card.card_text(record(), [["f", "r" * size]]).endswith(f"in force:\n{line}")


def test_a_card_takes_nine_thousand_characters_unless_another_limit_is_given() -> None:
    """What is left of it goes to messages."""
    made = record(tasks={str(number): ["pending", f"{number}" * 100] for number in range(5)})
    for letter in "abc":
        ledger.add_or_renew_note(made, ledger.KEEP, letter * 450, None)
    rules = [["f", "r" * 700]]
    pinned = [[letter * 300 for letter in "abc"], [letter * 300 for letter in "def"]]
    differing = 0
    for size in range(1, 600):
        made.messages = []
        say(made, *(str(number) * 600 for number in range(9)), "o" * size)
        usual = card.card_text(made, rules, pinned=pinned)
        whole, more = (
            card.card_text(made, rules, pinned=pinned, budget=budget) for budget in (9_000, 9_001)
        )
        assert usual == whole
        differing += usual != more
    assert differing


def test_what_was_completed_and_committed_takes_three_hundred_characters() -> None:
    """The latest first."""
    made = record(
        tasks={str(number): ["completed", f"{number}" * 60] for number in range(9)},
        commits=[[str(number) * 7, "x" * 60] for number in range(9)],
    )

    lines = card.card_text(made).split("\n")

    (done,) = [line for line in lines if line.startswith("- completed: 888")]
    (commits,) = [line for line in lines if line.startswith("- commits made here, latest first: 8")]
    assert (len(done), done[-1]) == (len("- completed: ") + 300, "…")
    assert (len(commits), commits[-1]) == (len("- commits made here, latest first: ") + 300, "…")


@pytest.mark.parametrize(
    ("unread", "told"), [(1, "1 MB"), (1_499_999, "1 MB"), (1_500_000, "2 MB"), (4e9, "4,000 MB")]
)
def test_a_card_says_how_much_of_the_session_was_not_read(unread: int, told: str) -> None:
    """In whole megabytes, one at least."""
    made = record(plan="x", unread_bytes=unread)

    assert f"the last part of the session: {told} before that were not read." in card.card_text(
        made
    )


@pytest.mark.parametrize(
    ("moved", "told"),
    [
        ({}, "Moved out: 0 old results. Each"),
        ({"results": 1}, "Moved out: 1 old result. Each"),
        ({"results": 2, "inputs": 0}, "Moved out: 2 old results. Each"),
        (
            {"results": 1, "inputs": 1},
            "Moved out: 1 old result, and the middle of 1 long input. Each",
        ),
        (
            {"results": 0, "inputs": 2},
            "Moved out: 0 old results, and the middle of 2 long inputs. Each",
        ),
    ],
)
def test_what_was_moved_out_is_counted_in_one_or_many(moved: dict[str, int], told: str) -> None:
    """Where nothing is in force that the model has not seen, there are two lines."""
    text = card.card_text_after_lossless_compaction(record(), moved)

    assert f"Compacted without a summary. {told} names its key" in text
    assert len(text.split("\n")) == 2


def test_after_a_lossless_compaction_only_what_a_person_added_is_still_told() -> None:
    """With what is pinned; notes that were marked in the session are still in it."""
    made = record()
    ledger.add_or_renew_note(made, ledger.KEEP, "in the session", None)
    ledger.add_or_renew_note(made, ledger.DECIDE, "by a person", None, "person")
    ledger.add_or_renew_note(made, ledger.KEEP, "done since", None, "person")
    list(made.notes.values())[-1]["done"] = True

    lines = card.card_text_after_lossless_compaction(made, {}, pinned=[["pinned"]]).split("\n")

    assert lines[2:] == ["Still in force:", "- pinned", "- decided: by a person"]
