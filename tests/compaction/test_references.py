"""When the model last referred to what."""

from __future__ import annotations

import string
from typing import Any

import pytest
from tests.compaction.talks import Talk

from brimline.compaction import blocks
from brimline.compaction.references import _RARE, _SEVERAL, Clock


def last_of_results(talk: Talk, count: int = 1) -> Any:
    """The step in which each of the first results came or was last referred to."""
    found = blocks.read_blocks(talk.body()) or []
    clock = Clock()
    clock.note_references_in_conversation(found)
    results = [block for block in found if block.kind == blocks.RESULT]
    steps = [clock.last_step_referring_to(block) for block in results[:count]]
    return steps if count > 1 else steps[0]


def test_an_action_that_names_a_file_refers_to_what_was_read_of_it() -> None:
    """By its path or the end of it; another file of the same name is another file."""
    talk = Talk()
    talk.read("/src/shop/cart.py")
    talk.read("/src/bank/cart.py")
    talk.idle(3)
    talk.step("Bash", {"command": "pytest shop/cart.py"}, "ok")

    assert last_of_results(talk, 2) == [5, 2]


@pytest.mark.parametrize(("holders", "is_meant"), [(_RARE, True), (_RARE + 1, False)])
def test_a_name_that_few_results_hold_means_them(holders: int, is_meant: bool) -> None:
    """One that many hold means none of them."""
    talk = Talk()
    for number in range(holders):
        talk.step("Bash", {"command": f"show {number}"}, f"the_rare_name in place{number}")
    talk.idle(3)
    talk.step("Grep", {"pattern": "the_rare_name"}, "none")

    assert (last_of_results(talk) == holders + 3) is is_meant


@pytest.mark.parametrize(("used", "is_meant"), [(_SEVERAL, True), (_SEVERAL - 1, False)])
def test_several_names_of_one_result_mean_it_if_others_hold_them(used: int, is_meant: bool) -> None:
    """So many in one action are no chance."""
    names = [f"common_name_{letter}" for letter in string.ascii_letters[:_SEVERAL]]
    talk = Talk()
    talk.step("Bash", {"command": "show all"}, " ".join(names))
    for number, name in enumerate(names * 4):
        talk.step("Bash", {"command": f"show {number}"}, name)
    talk.idle(3)
    talk.step("Bash", {"command": " ".join(names[:used])}, "ok")

    assert (last_of_results(talk) == _SEVERAL * 4 + 4) is is_meant


def test_what_a_call_wrote_counts_by_its_age() -> None:
    """Whatever refers to it later: the file says it by now."""
    talk = Talk()
    talk.step("Write", {"file_path": "/src/new.py", "content": "a_new_name = 1"}, "written")
    talk.idle(3)
    talk.step("Grep", {"pattern": "a_new_name"}, "none")
    found = blocks.read_blocks(talk.body()) or []
    clock = Clock()
    clock.note_references_in_conversation(found)
    calls = [block for block in found if block.kind == blocks.CALL]

    assert clock.last_step_referring_to(calls[0]) == 0
    assert last_of_results(talk) == 4


def test_a_file_was_changed_if_an_edit_named_it_by_the_whole_path_or_its_end() -> None:
    """Reading it changes nothing."""
    talk = Talk()
    talk.read("/src/read.py")
    talk.step("Edit", {"file_path": "/src/edited.py", "old_string": "a", "new_string": "b"}, "ok")
    clock = Clock()
    clock.note_references_in_conversation(blocks.read_blocks(talk.body()) or [])

    names = ("/src/edited.py", "src/edited.py", "./edited.py", "dited.py", "/src/read.py")
    assert [clock.was_path_edited(name) for name in names] == [True, True, True, False, False]


def test_another_beginning_is_another_conversation() -> None:
    """Nothing of the first is left; one that goes on is not begun again."""
    first, other = Talk(), Talk("Something else.")
    first.step("Edit", {"file_path": "/src/a.py", "old_string": "a", "new_string": "b"}, "ok")
    other.idle(1)
    clock = Clock()
    clock.note_references_in_conversation(blocks.read_blocks(first.body()) or [])
    first.idle(2)
    clock.note_references_in_conversation(blocks.read_blocks(first.body()) or [])
    went_on = clock.was_path_edited("/src/a.py")
    clock.note_references_in_conversation(blocks.read_blocks(other.body()) or [])

    assert went_on
    assert not clock.was_path_edited("/src/a.py")


@pytest.mark.parametrize("path", ["", 7, None, ["/src/a.py"]])
def test_a_call_whose_path_is_none_names_no_file(path: Any) -> None:
    """A model writes its calls itself, and not always well."""
    talk = Talk()
    talk.step("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "failed")
    clock = Clock()

    clock.note_references_in_conversation(blocks.read_blocks(talk.body()) or [])

    assert clock.changed == set()
