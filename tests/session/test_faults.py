"""What is wrong with a session, case by case: what is found, where, in which words, which mend."""

from __future__ import annotations

import io
from typing import Any

import pytest

from brimline.session import faults
from brimline.session.faults import Mend, Place
from brimline.transcript import read

from .broken import Json, findings, line


def user(name: str, parent: str | None, *blocks: Json, **extra: Any) -> bytes:
    """A row of the user's side; without blocks a prompt."""
    content: Any = list(blocks) or "words"
    fields = {"message": {"role": "user", "content": content}} | extra
    return line({"parentUuid": parent, "type": "user", "uuid": name} | fields)


def reply(name: str, parent: str | None, *blocks: Json, message: str = "", **extra: Any) -> bytes:
    """A row of the model's side, by default a reply of its own."""
    told = {"role": "assistant", "id": message or f"msg_{name}", "content": list(blocks)}
    return line({"parentUuid": parent, "type": "assistant", "uuid": name, "message": told} | extra)


def report(name: str, parent: str | None) -> bytes:
    """How far a call has got."""
    return line({"type": "progress", "uuid": name, "parentUuid": parent})


def asks(*names: str) -> list[Json]:
    """Calls."""
    return [{"type": "tool_use", "id": name, "name": "Bash", "input": {}} for name in names]


def tells(*names: str) -> list[Json]:
    """Results."""
    return [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in names]


def boundary(name: str, parent: str | None = None, **told: Any) -> bytes:
    """A compaction by the client."""
    told = {"compactMetadata": {"trigger": "auto", "preTokens": 1} | told}
    fields = {"parentUuid": parent, "type": "system", "subtype": "compact_boundary", "uuid": name}
    return line(fields | told)


def summary(name: str, parent: str) -> bytes:
    """What a compaction puts in the place of what was before it."""
    return user(name, parent, isCompactSummary=True)


def told(*lines: bytes) -> list[tuple[str, int, str]]:
    """Kind, line and words of every fault."""
    return [(one.kind, one.place.line, one.detail) for one in findings(list(lines)).faults]


def notes(*lines: bytes) -> dict[str, int]:
    """The lines of what is harmless, by kind."""
    return findings(list(lines)).notes


TEXT = {"type": "text", "text": "x"}
STARTS = user("a", None), reply("b", "a", TEXT)
CALLED = user("a", None), reply("b", "a", *asks("t1"), message="m")
RESULT = user("c", "b", *tells("t1"))


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ([], []),
        ([user("a", None)], []),
        ([*STARTS, user("c", "b")], []),
        ([*STARTS, user("c", "gone")], [(faults.DANGLING, 3, "follows line 2")]),
        ([user("c", "gone")], [(faults.DANGLING, 1, "nothing stands before it")]),
        (
            [*STARTS, user("c", "b", *tells("t1", "t2"))],
            [(faults.ORPHAN, 3, "t1, t2")],
        ),
        (
            [user("a", None), reply("b", "a", *asks("t1", "t2")), user("c", "b")],
            [(faults.UNANSWERED, 2, "t1, t2")],
        ),
        ([*STARTS, user("c", None)], []),
        (
            [*STARTS, user("b", "a")],
            [
                (
                    faults.DIFFERING,
                    3,
                    "id b, also in line 2: which of them is meant is not certain",
                )
            ],
        ),
    ],
)
def test_each_fault_is_told_with_its_line_and_in_words(
    lines: list[bytes], kinds: list[tuple[str, int, str]]
) -> None:
    """A sound session has none."""
    assert told(*lines) == kinds


def test_every_kind_of_fault_and_note_has_a_meaning() -> None:
    """None is named twice."""
    assert len({*faults.MEANINGS, *faults.NOTES}) == len(faults.MEANINGS) + len(faults.NOTES) == 13


@pytest.mark.parametrize(
    ("lines", "noted"),
    [
        ([user("b", "a"), user("a", None)], {faults.CHILD_FIRST: 1}),
        ([user("a", None), user("a", None)], {faults.REPEATED: 1}),
        ([user("a", None), reply("b", "a", *asks("t1"))], {faults.OPEN_CALL: 1}),
        ([user("a", None), reply("b", "a", *asks("t1"), TEXT)], {faults.OPEN_CALL: 1}),
        # A second row of the same reply closes nothing.
        (
            [
                user("a", None),
                reply("b", "a", *asks("t1"), message="m"),
                reply("c", "b", *asks("t2"), message="m"),
            ],
            {faults.OPEN_CALL: 2},
        ),
        # The result of one of two calls leaves the other open.
        (
            [user("a", None), reply("b", "a", *asks("t1", "t2")), user("c", "b", *tells("t1"))],
            {faults.OPEN_CALL: 1},
        ),
        (
            [user("a", None), reply("b", "a", *asks("t1")), boundary("c"), summary("d", "c")],
            {faults.CUT_CALL: 1},
        ),
        # A call that is told twice, or asked twice, is answered once and for all.
        (
            [
                user("a", None),
                reply("b", "a", *asks("t1")),
                user("c", "b", *tells("t1")),
                user("d", "c", *tells("t1")),
                reply("e", "d", *asks("t1")),
                user("f", "e"),
            ],
            {},
        ),
        ([*CALLED, RESULT, user("d", "c", *tells("t1"))], {}),
        ([user("a", None), reply("b", "a", *asks("t1")), boundary("c")], {faults.CUT_CALL: 1}),
        ([user("y", "y")], {}),
        (
            [user("a", "b"), user("b", "a"), boundary("c"), user("d", "c")],
            {faults.CHILD_FIRST: 1},
        ),
        # A result may stand before its call.
        (
            [
                user("a", None),
                user("c", "b", *tells("t1")),
                reply("b", "a", *asks("t1")),
                user("d", "c"),
            ],
            {faults.CHILD_FIRST: 1},
        ),
        ([b"junk\n", user("a", None), b"\n", b"[]\n"], {faults.UNREADABLE: 2}),
    ],
)
def test_what_is_harmless_is_noted_and_is_no_fault(
    lines: list[bytes], noted: dict[str, int]
) -> None:
    """And counted."""
    assert notes(*lines) == noted
    assert told(*lines) == []


ANSWER = faults.uuid_of_made_answer("b")


def test_the_id_of_an_answer_is_made_from_the_row_of_the_call() -> None:
    """The same at every repair, another for every row."""
    assert ANSWER == "e924c22b-e3ed-5236-aa99-7c0c18b21fd8"
    assert faults.uuid_of_made_answer("c") != ANSWER


def mends(*lines: bytes) -> list[tuple[str, Mend | None]]:
    """Kind and mend of every fault."""
    return [(one.kind, one.mend) for one in findings(list(lines)).faults]


@pytest.mark.parametrize(
    ("lines", "after", "moves"),
    [
        # What comes next moves behind the answer.
        ([user("c", "b")], Place(2), (Place(3),)),
        ([reply("c", "b", TEXT)], Place(2), (Place(3),)),
        # A further part of the reply does not, and the answer goes behind it.
        ([reply("c", "b", TEXT, message="m"), user("d", "c")], Place(3), ()),
        ([reply("c", "b", TEXT, message="m"), user("d", "b")], Place(3), (Place(4),)),
        # Nor do a report of the call, a row of an agent, another call's result.
        ([report("c", "b"), user("d", "c")], Place(2), ()),
        ([user("c", "b", agentId="x", isSidechain=True), user("d", "a")], Place(2), ()),
    ],
)
def test_an_answer_goes_behind_the_reply_and_what_followed_the_call_behind_it(
    lines: list[bytes], after: Place, moves: tuple[Place, ...]
) -> None:
    """Nothing else moves."""
    assert mends(*CALLED, *lines) == [
        (faults.UNANSWERED, Mend(faults.ANSWER, ANSWER, ("t1",), moves, after))
    ]


def test_rows_with_two_ids_or_broken_bytes_do_not_move_behind_an_answer() -> None:
    """Nothing is certain of them."""
    twice = user("c", "b"), user("c", "b", other=1)
    broken = user("d", "b").replace(b"words", b"\xff\xfe")

    found = [one.mend for one in findings([*CALLED, *twice, broken]).mendable_faults]

    assert found == [Mend(faults.ANSWER, ANSWER, ("t1",), (), Place(2))]


def test_a_reply_without_an_id_is_answered_where_it_stands() -> None:
    """It has no other parts."""
    told = {"role": "assistant", "content": asks("t1")}
    called = line({"parentUuid": "a", "type": "assistant", "uuid": "b", "message": told})

    (fault,) = findings([user("a", None), called, user("c", "b")]).faults

    assert fault.mend == Mend(faults.ANSWER, ANSWER, ("t1",), (Place(3),), Place(2))


@pytest.mark.parametrize(
    ("lines", "parent"),
    [
        # The row before it on its thread.
        ([*STARTS, user("z", "gone")], "b"),
        # The call that it answers, wherever that stands.
        ([*CALLED, reply("c", "b", TEXT, message="m"), user("z", "gone", *tells("t1"))], "b"),
        # The part of its reply before it.
        ([*CALLED, reply("z", "gone", TEXT, message="m"), user("d", "z", *tells("t1"))], "b"),
        # Not a report, where something else stands before it.
        ([*STARTS, report("p", "b"), user("z", "gone")], "b"),
        ([report("p", None), user("z", "gone")], "p"),
        # Not the row of another thread.
        ([*STARTS, user("s", "b", agentId="x", isSidechain=True), user("z", "gone")], "b"),
        # Nothing that hangs on it.
        ([user("a", None), user("b", "z"), user("z", "gone")], "a"),
        # Behind an answer that is made, where it came after the call.
        ([*CALLED, user("z", "gone")], ANSWER),
        # Not a row that stands there a second time, and not what is torn before it on its line.
        ([*CALLED, RESULT, CALLED[1], user("z", "gone")], "c"),
        ([*STARTS, b'{"type":"us\xff' + user("z", "gone")], "b"),
        # With nothing before it, it is the first.
        ([user("z", "gone"), user("b", "z")], None),
        ([user("s", None, agentId="x", isSidechain=True), user("z", "gone")], None),
    ],
)
def test_a_lost_parent_is_replaced_by_what_most_surely_stood_there(
    lines: list[bytes], parent: str | None
) -> None:
    """Whatever else stands in between."""
    found = dict(mends(*lines))

    assert found[faults.DANGLING] == Mend(faults.RELINK, parent)


CANDIDATES = faults._CANDIDATES


@pytest.mark.parametrize(("between", "parent"), [(CANDIDATES - 1, "a"), (CANDIDATES, None)])
def test_a_few_rows_before_a_lost_one_are_thought_of(between: int, parent: str | None) -> None:
    """Those that hang on it cannot be its parent."""
    below = [user(f"b{n}", "z") for n in range(between)]

    found = dict(mends(user("a", None), *below, user("z", "gone")))

    assert found[faults.DANGLING] == Mend(faults.RELINK, parent)


def test_rows_whose_parents_run_in_a_circle_are_taken_as_they_are() -> None:
    """Nothing hangs on itself for ever."""
    circle = user("a", "b"), user("b", "a"), user("z", "gone"), user("y", "y")

    assert dict(mends(*circle)) == {faults.DANGLING: Mend(faults.RELINK, "a")}


def test_faults_come_in_the_order_of_the_file_whatever_found_them() -> None:
    """By line, and by the row on it."""
    lines = [
        *(user("a", None), reply("b", "a", *asks("t1")), user("c", "gone")),
        user("d", "c", *tells("t9"))[:-1] + user("e", "lost"),
    ]

    found = [(one.kind, *one.place) for one in findings(lines).faults]

    assert found == [
        (faults.UNANSWERED, 2, 0),
        (faults.DANGLING, 3, 0),
        (faults.MERGED, 4, 0),
        (faults.ORPHAN, 4, 0),
        (faults.DANGLING, 4, 1),
    ]


@pytest.mark.parametrize(
    ("kept", "in_context"),
    [([], [False, False, True]), (["b"], [False, True, True]), (["a"], [True] * 3)],
)
def test_what_stands_before_a_compaction_and_was_not_kept_is_in_no_request(
    kept: list[str], in_context: list[bool]
) -> None:
    """From the first row that it kept on, everything is."""
    lines = [
        *(user("a", "x"), user("b", "a"), user("c", "y")),
        *(boundary("d", preservedMessages={"uuids": kept}), user("e", "z")),
    ]

    found = findings(lines).faults

    assert [one.place.line for one in found] == [1, 3, 5]
    assert [one.in_context for one in found] == in_context


def test_rows_are_counted_with_an_id_or_without_and_copies_by_their_place() -> None:
    """A row that stands there three times has two copies."""
    lines = [user("a", None), line({"type": "mode"}), user("a", None), user("a", None), b"junk\n"]

    found = findings(lines)

    assert found.rows == 4
    assert found.copies == {Place(1): [Place(3), Place(4)]}
    assert found.notes[faults.REPEATED] == 2


@pytest.mark.parametrize(
    ("before", "behind", "kinds"),
    [
        # The last result is not behind it: what a killed client had written by then.
        ([*CALLED, RESULT], [user("k1", "z")], [faults.CUT_OFF]),
        ([*CALLED, RESULT, reply("d", "c", TEXT)], [user("k1", "z")], [faults.CUT_OFF]),
        ([*CALLED, RESULT], [], [faults.CUT_OFF]),
        # It is, and leads back before it: a resume undoes it.
        ([*CALLED, RESULT], [user("k1", "b", *tells("t1"))], [faults.UNDONE]),
        # It is, and hangs on the compaction.
        ([*CALLED, RESULT], [user("k1", "z", *tells("t1"))], []),
        # There was none.
        ([*STARTS], [user("k1", "z")], []),
        # A summary holds it, whatever is behind.
        ([*CALLED, RESULT], [summary("k1", "z")], []),
    ],
)
def test_the_last_compaction_is_whole_cut_off_or_undone_by_a_resume(
    before: list[bytes], behind: list[bytes], kinds: list[str]
) -> None:
    """Cut off, it cannot be mended, and the words lead to the way back."""
    found = findings([*before, boundary("z"), *behind]).faults

    assert [one.kind for one in found] == kinds
    for fault in found:
        assert fault.place == Place(len(before) + 1)
        if fault.kind == faults.CUT_OFF:
            assert fault.mend is None
            assert fault.detail == (
                "`brimline session restore --before-compaction` takes the session back"
            )
        else:
            assert (fault.mend, fault.detail) == (Mend(faults.ANCHOR, calls=("k1",)), "")


ONE, TWO = user("a", None)[:-1], user("b", "a")[:-1]
PIECE = b'{"type":"us'


@pytest.mark.parametrize(
    ("data", "names", "detail"),
    [
        (ONE, ["a"], None),
        (ONE + TWO, ["a", "b"], "2 rows"),
        (ONE + b"  " + TWO, ["a", "b"], "2 rows"),
        (ONE + PIECE, ["a"], "1 row and a broken piece"),
        (PIECE + ONE, ["a"], "1 row and a broken piece"),
        (PIECE + PIECE + ONE, ["a"], "1 row and a broken piece"),
        (PIECE + ONE + TWO, ["a", "b"], "2 rows and a broken piece"),
        (PIECE + ONE + PIECE + TWO, ["a", "b"], "2 rows and a broken piece"),
        (ONE + PIECE + TWO + PIECE, ["a", "b"], "2 rows and a broken piece"),
        # What begins like a row and has no name is none; one of any other shape neither.
        (PIECE + b'{"type":"mode"}', [], None),
        (PIECE + b'{"other":1}', [], None),
        (PIECE, [], None),
    ],
)
def test_rows_are_found_behind_what_was_torn(
    data: bytes, names: list[str], detail: str | None
) -> None:
    """Each with its place on the line."""
    (whole,) = read.lines_of_stream(io.BytesIO(data + b"\n"))

    found = faults.rows_on_line(whole)

    assert [one.value["uuid"] for one in found] == names
    rows = {"a": ONE, "b": TWO}
    assert [data[one.start : one.end] for one in found] == [rows[name] for name in names]
    told = [one.detail for one in findings(data + b"\n").faults if one.kind == faults.MERGED]
    assert told == ([detail] if detail else [])


def test_lines_too_long_to_parse_are_counted_once_and_end_the_search_for_what_is_missing() -> None:
    """Whatever is missing may be there; shared lines are still told."""
    long = user("l", "a", text="x" * read.LONGEST_PARSED_BYTES)

    found = findings(
        [long, user("c", "gone"), user("d", "c", *tells("t1")), user("e", None), user("f", "e")]
    )

    assert found.notes == {faults.LONG: 1}
    assert found.faults == []


def test_faults_are_parted_by_whether_there_is_one_mend() -> None:
    """In their order."""
    found = findings([*STARTS, user("b", "a"), user("c", "gone"), user("d", "c", *tells("t1"))])

    assert [one.kind for one in found.mendable_faults] == [faults.DANGLING, faults.ORPHAN]
    assert [one.kind for one in found.faults_left_alone] == [faults.DIFFERING]
    assert [one.mend for one in found.mendable_faults] == [
        Mend(faults.RELINK, "b"),
        Mend(faults.STUB, calls=("t1",)),
    ]


def test_of_two_rows_with_one_id_both_stand_in_the_conversation() -> None:
    """The later one is what comes before the next row."""
    assert told(*STARTS, user("b", "a"), user("c", "gone")) == [
        (faults.DIFFERING, 3, "id b, also in line 2: which of them is meant is not certain"),
        (faults.DANGLING, 4, "follows line 3"),
    ]
