"""The tool `recall`: exact content in answers that fit, what a query finds, in this project."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import layout, put, removal
from brimline.bulk.contents import parse_range
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.mcp import recall
from brimline.recall.stored import HEAD_BYTES
from brimline.testing import SessionBuilder
from brimline.transcript.project import Project

PROJECT = "/home/dev/project"
OWN = Project((PROJECT,))
LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=60)
ROOM = recall.ROOM
NUMBERED = b"".join(b"line %d of the output\n" % number for number in range(1, 5_001))


def ask(home_dir: str, within: Project | None = OWN, **arguments: Any) -> str:
    """What the model gets."""
    answer = recall.answer(home_dir, PROJECT, within, arguments)
    assert answer.startswith("[brimline recall")
    assert recall.characters_as_client_counts(answer) <= recall.LARGEST_CHARACTERS
    return answer


def keep(home_dir: str, data: bytes, **meta: Any) -> str:
    """Store an output of the project."""
    return put.put(home_dir, data, {"cwd": PROJECT} | meta)


def parts(answer: str) -> tuple[str, str]:
    """The first line and the rest."""
    head, _, body = answer.partition("\n")
    return head, body


def test_a_small_output_comes_back_whole(home_dir: str) -> None:
    """The first line says what it is."""
    source = 'make "all"\n  -j8'
    key = keep(home_dir, b"one\ntwo \xc3\xbc\n\nfour", tool="Bash", source=source, exit=2)

    head, body = parts(ask(home_dir, key=key))

    assert head == f"[brimline recall {key[:19]} (Bash \"make 'all' -j8\" exit 2): all 4 lines]"
    assert body == "one\ntwo ü\n\nfour"


@pytest.mark.parametrize(
    "written",
    ["{}", "{:.15}", " {} ", "`{}`", "{:.19}…", "{:.19}...", "[{}]"],
)
def test_a_key_is_understood_as_models_write_it(home_dir: str, written: str) -> None:
    """Whole or shortened, with what stood around it."""
    key = keep(home_dir, b"content")

    assert parts(ask(home_dir, key=written.format(key)))[1] == "content"
    assert parts(ask(home_dir, key=key[7:].upper()))[1] == "content"


@pytest.mark.parametrize("query", ["", "output"])
def test_a_large_output_comes_in_pages_that_say_how_to_go_on(home_dir: str, query: str) -> None:
    """Following what the answers say gives every line, once; also of those that hold a word."""
    key = keep(home_dir, NUMBERED)
    head, body = parts(ask(home_dir, key=key, query=query))
    heads, pages = [head], [body]
    while found := re.search(r'next: lines="([^"]+)"\]$', heads[-1]):
        head, body = parts(ask(home_dir, key=key, query=query, lines=found[1]))
        heads.append(head)
        pages.append(body)

    assert re.sub(r"(?m)^\d+: ", "", "\n".join(pages)).encode() + b"\n" == NUMBERED
    assert len(pages) > 3
    if not query:
        assert re.search(r": lines 1-1,\d\d\d of 5,000; next", heads[0])
        assert heads[-1].endswith("-5,000 of 5,000]")


def test_a_line_too_long_for_one_answer_is_shown_in_parts(home_dir: str) -> None:
    """The part says where in the line it lies; rare characters count twice, as for the client."""
    key = keep(home_dir, b"first\n" + "𝄞".encode() * (whole := ROOM // 2 + 500))

    head, body = parts(ask(home_dir, key=key, lines="2:2"))
    fitting = ROOM // 2
    rest = ask(home_dir, key=key, lines=(next_part := f"2@{fitting + 1}:2"))

    assert f": line 2 of 2, characters 1-{fitting:,} of {whole:,}" in head
    assert head.endswith(f'; next: lines="{next_part}"]')
    assert body == "𝄞" * fitting
    assert parts(rest)[1] == "𝄞" * (whole - fitting)


def test_key_and_query_show_the_lines_that_hold_the_words(home_dir: str) -> None:
    """With numbers that can be asked for; those of the whole output, also within a range."""
    key = keep(home_dir, NUMBERED)

    head, body = parts(ask(home_dir, key=key, query='"line 70" OUTPUT'))
    within = ask(home_dir, key=key, query='"line 7"', lines="60:80")

    assert head.endswith(": 11 of 5,000 lines hold '\"line 70\" OUTPUT']")
    assert body.splitlines()[:2] == ["70: line 70 of the output", "700: line 700 of the output"]
    assert parts(within)[0].endswith(": 10 of lines 60-80 (of 5,000) hold '\"line 7\"']")
    assert [row.split(":")[0] for row in parts(within)[1].splitlines()] == [
        str(number) for number in range(70, 80)
    ]
    assert "0 of 5,000 lines hold 'absent'" in ask(home_dir, key=key, query="absent")
    assert parts(ask(home_dir, key=key, lines=4_999))[1] == "line 4999 of the output"


def test_of_a_long_line_the_part_around_the_word_is_shown(home_dir: str) -> None:
    """With the length of the line."""
    key = keep(home_dir, "ä".encode() * 50_000 + b" needle " + b"y" * 50_000)

    answer = ask(home_dir, key=key, query="needle")

    assert "needle" in parts(answer)[1]
    assert "(100,008 characters)" in answer
    assert len(answer) < 2_000


def test_binary_content_is_never_shown(home_dir: str) -> None:
    """Neither as a page nor by its words."""
    key = keep(home_dir, b"\x89PNG\r\n\x1a\n\x00\x00secret")

    for more in ({}, {"lines": "1:2"}, {"query": "secret"}):
        answer = ask(home_dir, OWN, key=key, **more)
        assert answer.endswith("saves it]")
        assert "binary, 16 bytes" in answer
        assert "secret" not in answer


def test_odd_content_is_said_to_be_odd(home_dir: str) -> None:
    """What is shown is then not what is stored, byte for byte; of nothing there are no lines."""
    answer = ask(home_dir, key=keep(home_dir, b"a few \xff bytes in a text that is fine"))

    assert parts(answer)[0].endswith("bytes that are not UTF-8 are shown as \\xNN]")
    assert parts(answer)[1].startswith("a few \\xff bytes")
    assert ask(home_dir, key=keep(home_dir, b"")).endswith(": empty]")


@pytest.mark.parametrize(
    "key",
    [
        *("../../etc/passwd", "sha256:../../../x", "/etc/passwd", "sha256:" + "zz" * 32),
        *("abc", "last", "x" * 100_000, "sha256:" + "a" * 65, "\x00" * 10, "\ud800"),
    ],
)
def test_what_is_no_key_is_refused_in_one_sentence(home_dir: str, key: str) -> None:
    """It never becomes part of a path; a key that nothing is stored under is said to be missing."""
    with pytest.raises(StoreError, match="is not in the store"):
        ask(home_dir, key="ab" * 32)
    assert not os.path.exists(home_dir)
    keep(home_dir, b"content")

    with pytest.raises(StoreError, match="is not a key") as told:
        ask(home_dir, key=key)
    assert len(str(told.value)) < 500


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"key": 5}, "key must be a text"),
        ({"query": "x", "lines": 1.5}, "lines must be a text"),
        ({"question": "x"}, "recall takes key, query, lines, not 'question'"),
        ({"x" * 41: 1}, f"recall takes key, query, lines, not '{'x' * 40}'"),
        ({"key": None, "query": " "}, "give key, of one stored output, or query, to find some"),
        (
            {"key": "k" * 999},
            f"'{'k' * recall._LONGEST_KEY}' is not a key: give sha256: and its digits",
        ),
    ],
)
def test_who_asks_wrongly_is_told_how_to_ask(
    home_dir: str, arguments: dict[str, Any], said: str
) -> None:
    """One sentence, about the first thing that is wrong."""
    with pytest.raises(StoreError) as raised:
        recall.answer(home_dir, "/p", None, arguments)

    assert str(raised.value) == said


@pytest.mark.row("S3-74")
def test_that_an_output_is_gone_is_told_with_the_remedy(home_dir: str) -> None:
    """A preview that is left in the session leads to it; stored again, it is there again."""
    key = keep(home_dir, b"content")
    removal.forget_key(home_dir, key)
    for written in (key, key[:19]):
        with pytest.raises(StoreError, match=r"not in the store: it was pruned, .* again"):
            ask(home_dir, key=written)

    keep(home_dir, b"content")
    assert parts(ask(home_dir, key=key))[1] == "content"


def test_outputs_of_other_projects_are_given_only_on_request(
    home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By key as by query; what is stored nowhere that is known counts as another's."""
    secret = put.put(home_dir, b"needle token", {"cwd": "/home/dev/other", "session": "s-other"})
    lost = keep(home_dir, b"needle lost")
    os.unlink(layout.stored_path(home_dir, lost[7:], "json"))

    for key in (secret, lost):
        with pytest.raises(
            StoreError, match="was not stored by a session of this project: `recall_elsewhere`"
        ):
            ask(home_dir, key=key)
        assert "needle" in ask(home_dir, key=key, within=None)
    assert (
        ask(home_dir, query="needle")
        == "[brimline recall: no output of this project is stored yet]"
    )
    assert "hits 1-2 of 2" in ask(home_dir, query="needle", within=None)


@pytest.mark.parametrize("known", ["folder", "transcript", "running", "stored again"])
def test_what_a_session_of_the_project_stored_is_the_projects(home_dir: str, known: str) -> None:
    """Wherever its command ran, and whoever had stored the same before."""
    cwd = f"{PROJECT}/sub" if known == "folder" else "/tmp/build"
    key = put.put(home_dir, b"content", {"cwd": cwd, "session": "s1"})
    session = "s1"
    if known == "stored again":
        session = "s2"
        put.put(home_dir, b"content", {"cwd": PROJECT, "session": "s2"})
    if known == "running":
        assert parts(ask(home_dir, OWN._replace(session="s1"), key=key))[1] == "content"
        return
    if known != "folder":
        path = f"{paths.project_transcripts_dir(PROJECT)}/{session}.jsonl"
        SessionBuilder(path, session, PROJECT).prompt("go")

    assert parts(ask(home_dir, key=key))[1] == "content"


def test_a_hit_is_told_with_its_key_and_its_lines(home_dir: str) -> None:
    """With line numbers, so that they can be asked for; of many the first ones."""
    content = b"start\n" + b"noise\n" * 50 + b"Error: timeout in worker\nend\n"
    key = keep(home_dir, content, tool="Bash", source="make test", exit=2)
    keep(home_dir, b"needle\n" * (recall._LINES_PER_HIT + 4))

    first, hit, line = ask(home_dir, query="timeout error").splitlines()

    assert first == "[brimline recall: hits 1-1 of 1 that hold 'timeout error']"
    assert hit.startswith(f'1. {key[:19]} (Bash "make test" exit 2), 2')
    assert hit.endswith("Z, 53 lines")
    assert line == "   52: Error: timeout in worker"
    assert ask(home_dir, query="needle").splitlines()[-2:] == [
        f"   {recall._LINES_PER_HIT}: needle",
        "   and 4 more",
    ]


def test_the_line_that_holds_the_rare_word_comes_first(home_dir: str) -> None:
    """Not behind four others that hold what every line holds; of a long one the part around it."""
    lines = [f"line {number} alpha é needle{number}" for number in range(1, 5_001)]
    keep(home_dir, "\n".join(lines).encode())
    keep(home_dir, ("é" * 9_000 + " gamma rare77 " + "y" * 9_000).encode())

    shown = ask(home_dir, query="alpha needle4999").splitlines()

    assert shown[2] == "   4999: line 4999 alpha é needle4999"
    assert "gamma rare77" in ask(home_dir, query="gamma rare77").splitlines()[2]
    assert "some of (none holds all) 'gamma absent'" in ask(home_dir, query="gamma absent")


def test_hits_come_in_pages(home_dir: str) -> None:
    """The first line says how to ask for the next."""
    page = recall._HITS_PER_ANSWER
    for number in range(hits := 2 * page + 5):
        keep(home_dir, b"needle %d" % number)

    first = ask(home_dir, query="needle").splitlines()
    last = ask(home_dir, query="needle", lines=f"{hits - 4}:{hits + 5}").splitlines()

    assert first[0].startswith(f"[brimline recall: hits 1-{page} of {hits} that hold 'needle'")
    assert first[0].endswith(f'next: lines="{page + 1}:{2 * page}"]')
    assert last[0] == f"[brimline recall: hits {hits - 4}-{hits} of {hits} that hold 'needle']"
    assert last[1].startswith(f"{hits - 4}. ")
    with pytest.raises(StoreError, match=f"there is no hit {hits + 1}: the last one is {hits}"):
        ask(home_dir, query="needle", lines=f"{hits + 1}:{hits + 5}")


def test_hits_with_long_lines_still_fit(home_dir: str) -> None:
    """Asked for all of them, the answer holds as many as fit; a long query does not fill it."""
    for number in range(40):
        line = f"needle 𝄞 {number} " + "𝄞" * 300
        keep(home_dir, "\n".join([line] * 6).encode())

    first, *rest = ask(home_dir, query="needle", lines="1:40").splitlines()

    shown = sum(line[:1].isdigit() for line in rest)
    assert 1 <= shown < 40
    assert f"hits 1-{shown} of 40" in first
    assert f'next: lines="{shown + 1}:' in first
    assert len(ask(home_dir, query="q" * 500)) < 200


def test_nothing_found_and_what_was_not_searched_are_told(home_dir: str) -> None:
    """Both are answers, not failures."""
    keep(home_dir, b"\x00\x01")
    keep(home_dir, b"hay " * HEAD_BYTES)

    lines = ask(home_dir, query="needle").splitlines()

    assert lines == [
        "[brimline recall: none of 2 stored outputs holds 'needle']",
        "Stored outputs that are binary and were not searched: 1.",
        f"Stored outputs that are large: only the first {HEAD_BYTES // 1_000} kB were searched: 1.",
    ]


@pytest.mark.parametrize("created", [1e300, float("nan"), -1e20, "yesterday", None, [1]])
def test_a_damaged_sidecar_costs_its_figures_only(home_dir: str, created: object) -> None:
    """One bad description must not hide all hits."""
    key = keep(home_dir, b"needle")
    sidecar = {"cwd": PROJECT, "created": created, "lines": "many", "tool": 7, "exit": None}
    Path(layout.stored_path(home_dir, key[7:], "json")).write_text(json.dumps(sidecar))

    assert ask(home_dir, query="needle").splitlines()[1] == f"1. {key[:19]}"
    assert parts(ask(home_dir, key=key))[1] == "needle"


@given(st.lists(LINE, min_size=1, max_size=12), st.integers(8, 90))
def test_asking_for_the_next_again_and_again_gives_all_of_it(texts: list[str], room: int) -> None:
    """Nothing is missing, nothing comes twice, and every page fits."""
    lines = [text.encode() for text in texts]
    asked = f"1:{len(lines)}"
    shown = ""
    for _ in range(2_000):
        page = recall.page_of_lines_that_fit(lines, parse_range(asked, len(lines)), room)
        assert recall.characters_as_client_counts(page.text) <= room
        shown += page.text
        asked = page.rest
        if not asked:
            break
        shown += "" if "@" in asked else "\n"

    assert shown == "\n".join(texts)


def long_line(characters: int) -> str:
    """A line that begins with the word."""
    return "needle " + "x" * (characters - 7)


def lines_of(home_dir: str, **arguments: Any) -> list[str]:
    """The lines that the model gets."""
    return recall.answer(home_dir, PROJECT, OWN, arguments).split("\n")


@pytest.mark.parametrize("most", [recall._LINE_CHARACTERS, recall._HIT_CHARACTERS])
def test_a_line_that_holds_the_words_is_shown_up_to_its_limit(home_dir: str, most: int) -> None:
    """More of one output than where several are found; how long it is is told."""
    whole, longer = long_line(most), long_line(most + 1)
    key = keep(home_dir, f"{whole}\n{longer}\n".encode())

    lines = (
        lines_of(home_dir, key=key, query="needle")
        if most == recall._LINE_CHARACTERS
        else lines_of(home_dir, query="needle")
    )

    assert [line.strip() for line in lines[-2:]] == [
        f"1: {whole}",
        f"2: {longer[:most]}… ({most + 1} characters)",
    ]


@pytest.mark.parametrize(("characters", "is_whole"), [(ROOM - 1, True), (ROOM, False)])
def test_an_answer_has_its_room_of_content(home_dir: str, characters: int, is_whole: bool) -> None:
    """Below its first line."""
    key = keep(home_dir, b"x" * characters)

    head, content = lines_of(home_dir, key=key)

    assert ("its only line" in head) is is_whole
    assert len(content) == characters if is_whole else len(content) == ROOM
    assert is_whole or f"characters 1-{ROOM:,} of {characters:,}" in head


def test_a_store_of_a_newer_version_is_not_read(home_dir: str) -> None:
    """Neither by a key nor by a query."""
    key = keep(home_dir, b"needle")
    Path(home_dir, "store", "format").write_text("99")

    for arguments in ({"key": key}, {"query": "needle"}):
        with pytest.raises(StoreError, match="was written by a newer brimline: upgrade this"):
            ask(home_dir, OWN, **arguments)


@pytest.mark.parametrize("how", ["summary", "cut", "sent", "forgotten", "other session"])
def test_what_this_sessions_requests_have_no_more_is_found_in_its_own_file(
    how: str, session: SessionBuilder, home_dir: str
) -> None:
    """It was never stored; what is still sent, forgotten or another session's is not taken in."""
    session.path = f"{paths.project_transcripts_dir(session.cwd)}/{session.session_id}.jsonl"
    call = session.tool_call(20_000, "Read", file_path="/src/teapot.py")
    session.tool_result(call, "def pour(): return 418\n" * 40)
    other = session.tool_call(21_000, command="make")
    session.tool_result(other, "made\n" * 40)
    if how == "cut":
        session.cut(call)
    elif how != "sent":
        session.compact(22_000)
    key = layout.PREFIX + put.sha256(b"def pour(): return 418\n" * 40)
    if how == "forgotten":
        layout.note_store_event(home_dir, "forget", key)
    asking = "another" if how == "other session" else session.session_id
    keep(home_dir, b"something else")

    answer = ask(home_dir, OWN._replace(session=asking), query="pour teapot.py")

    is_found = how in ("summary", "cut")
    assert (layout.shorten_key(key) in answer) is is_found
    assert len(os.listdir(f"{home_dir}/store")) > 0
    if is_found:
        assert '(Read "/src/teapot.py")' in answer
        assert "418" in ask(home_dir, OWN._replace(session=asking), key=key)
