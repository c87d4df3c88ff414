"""A question: its words, the forms in which a text holds them, and what is about something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline import recall
from brimline.recall import question

if TYPE_CHECKING:
    from pathlib import Path

SAID = (
    "We deploy on Fridays, never on Mondays.",
    "The retry limit of the importer is seven.",
    "Paul asked for a larger font in the report.",
    "CODEOWNERS names the platform group.",
    "We still use the clock on the wall.",
    "Never touch the folder of the auditors.",
)


@pytest.mark.parametrize(
    ("asked", "is_answered"),
    [
        ("what is the retry limit of the importer?", True),
        ("importer retries", True),
        ("who is named in CODEOWNERS?", True),
        ("how do we deploy the Django admin?", False),
        ("which camera lens suits a report about safaris?", False),
        ("the recipe with aubergines", False),
        ("what must I not touch?", True),
        ("which drawer must I never touch?", True),
        ("is there a Lisbon report?", False),
        ("which paint did we use for the bedroom walls?", False),
    ],
)
def test_a_question_about_something_else_has_no_hits(
    asked: str, is_answered: bool, world: Path
) -> None:
    """One word that happens to be there does not make an answer."""
    store = recall.open(str(world / "m"))
    store.add([{"id": str(number), "text": text} for number, text in enumerate(SAID)])

    assert bool(store.search(asked, 5, may_be_none=True)) is is_answered


def test_a_question_whose_words_all_stand_in_one_entry_is_never_refused(world: Path) -> None:
    """However long that is, and however many hold most of them more often."""
    store = recall.open(str(world / "m"))
    better = [{"id": f"{n}", "text": f"importer limit limit {n}"} for n in range(80)]
    long = " ".join(f"filler{number}" for number in range(400))
    store.add([*better, {"id": "all", "text": f"{long} importer {long} limit {long} otter"}])

    assert store.search("importer limit otter", 5, may_be_none=True)[0].id == "all"


@pytest.mark.parametrize(
    ("text", "found", "not_found"),
    [
        (
            "세션 저장소를 삭제하기로 결정했습니다",
            ["왜 세션 저장소를 지웠나요", "저장소"],
            "맥주 가격",
        ),
        ("検索が遅いので索引を作り直しました", ["検索", "索引の作り直し", "遅い"], "天気予報"),
        ("我们决定删除会话存储，因为它太慢了", ["为什么删除会话存储", "会话"], "机票价格"),
        ("Claude를 다시 시작", ["Claude", "시작"], "신발"),
        ("Die Speicherverwaltung fehlt", ["Verwaltung", "Speicher"], "Kuchenrezept"),
        ("Datenbankverbindungen enden", ["Verbindung", "Datenbank"], "Steuer"),
        ("die Verwaltung der Rechte", ["Rechteverwaltung"], "Anmeldung"),
        ("checkpointSessions are kept", ["session", "checkpoint"], "kubernetes"),
    ],
)
def test_words_are_found_in_scripts_without_blanks_with_endings_and_in_compounds(
    world: Path, text: str, found: list[str], not_found: str
) -> None:
    """Nobody who writes so puts blanks where a search would like them."""
    store = recall.open(str(world / "m"))
    store.add(
        [{"id": "it", "text": text}, {"id": "other", "text": "Freitags nicht. 금요일. 金曜日"}]
    )

    for asked in found:
        assert [hit.id for hit in store.search(asked, 5, may_be_none=True)] == ["it"], asked
    assert store.search(not_found, 5, may_be_none=True) == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Otter otter OTTER", ["Otter", "otter", "OTTER"]),
        ("otter plan otter", ["otter", "plan"]),
        ("check_one", ["check", "one"]),
        ("e\u0301t\u00e9", ["\u00e9t\u00e9"]),
        ("What is the otter plan?", ["otter", "plan"]),
        ("what is the", ["what", "is", "the"]),
        ("索引の作り直し", ["索引", "引の", "の作", "作り", "り直", "直し"]),
        ("なぜ遅い", ["ぜ遅", "遅い"]),
        ("", []),
        (" ".join(f"word{number}" for number in range(61)), [f"word{n}" for n in range(60)]),
    ],
)
def test_the_words_of_a_question_are_those_that_tell_something(
    query: str, words: list[str]
) -> None:
    """As they are written, each once, in their order; sixty are enough of any question."""
    assert question.words_but_stop_words(query) == words


@pytest.mark.parametrize(
    ("asked", "texts", "fuller"),
    [
        ("Use otter", ["use the thing", "otter"], 1),
        ("report otter", ["report", "otter"], 1),
        ("elk in the Django admin", ["django", "admin"], 0),
        ("Django in the admin", ["django", "admin"], 1),
    ],
)
def test_a_rare_word_tells_more_than_a_common_one_and_an_unknown_name_more_than_either(
    world: Path, asked: str, texts: list[str], fuller: int
) -> None:
    """The capital of a first word makes no name."""
    store = recall.open(str(world / "m"))
    store.add([{"id": str(number), "text": f"report {number}"} for number in range(1_200)])
    words = question.words_but_stop_words(asked)

    shares = store.run_on_database(lambda base: question.shares_held(base, asked, words, texts))

    assert shares[fuller] >= shares[1 - fuller]
    assert sum(shares) <= 1
    assert store.run_on_database(lambda base: question.shares_held(base, "", [], [])) == []
