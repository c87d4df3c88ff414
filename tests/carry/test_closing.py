"""What a sentence ends: all of an item that names one thing, nothing of one that names more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.carry import items

from .talk import Talk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """An empty session."""
    return Talk(tmp_path)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            "Please fix the login page, update the docs and add a test for SSO.",
            "I've fixed the login page.",
        ),
        ("Todo: port the parser, port the CRC check, write a soak test", "The parser is ported."),
        (
            "Fix the login page. Then update the docs, add a test for SSO and bump the version.",
            "I have updated the docs.",
        ),
        (
            "Fix these for me:\n1. the login page\n2. the docs of the API\n3. the test for SSO",
            "I've fixed the docs of the API.",
        ),
        ("TODO: 1) fix the login page 2) update the SSO docs", "I've fixed the login page."),
    ],
)
def test_one_part_that_is_done_leaves_the_others_open(talk: Talk, asked: str, told: str) -> None:
    """Open work that is told as finished is lost."""
    talk.user(asked)
    talk.assistant(told)

    ended = " ".join(talk.texts(items.TASK, items.GOAL, items.FACT, status=items.DONE))
    left_open = " ".join(talk.texts(items.TASK, items.GOAL, items.FACT))

    assert not any(word in ended for word in ("SSO", "CRC", "soak"))
    assert any(word in left_open for word in ("SSO", "soak"))


def test_one_part_that_is_cancelled_leaves_the_others_open(talk: Talk) -> None:
    """The same holds for what is no longer wanted."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user("also translate the report page and add a CSV export")
    talk.user("scrap the CSV export")

    assert talk.texts(items.TASK) == ["also translate the report page and add a CSV export"]


def test_a_list_in_one_line_is_a_task_each(talk: Talk) -> None:
    """Each can be ended by itself."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user("Todo: port the parser, port the CRC check and write a soak test")
    talk.assistant("The parser is ported.")

    assert talk.texts(items.TASK) == ["Todo: port the CRC check", "Todo: write a soak test"]


def test_the_end_of_every_part_ends_the_whole(talk: Talk) -> None:
    """However much shorter it is put."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user("also fix the login page, update the docs and add a test for SSO")
    talk.assistant("The login page, the docs and the SSO test are done.")

    assert talk.texts(items.TASK) == []


def test_parts_that_end_one_after_the_other_end_the_whole(talk: Talk) -> None:
    """With the last of them."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user("also fix the login page, update the docs and add a test for SSO")
    talk.assistant("I've fixed the login page.")
    talk.assistant("I have added the SSO test.")
    assert len(talk.texts(items.TASK)) == 1

    talk.assistant("I have updated the docs.")

    assert talk.texts(items.TASK) == []


def test_a_goal_of_one_thing_is_ended_by_naming_it(talk: Talk) -> None:
    """Nothing of it is left."""
    talk.user("Refactor the parser so it streams.")
    talk.assistant("The parser refactoring is done.")

    assert talk.texts(items.GOAL) == []


def test_a_listed_task_that_is_completed_leaves_a_goal_of_several(talk: Talk) -> None:
    """The client's list has the parts."""
    talk.user("Please fix the login page, update the docs and add a test for SSO.")
    talk.tool(
        "TodoWrite",
        todos=[
            {"content": "Fix the login page", "status": "completed", "activeForm": "Fixing"},
            {"content": "Update the docs", "status": "pending", "activeForm": "Updating"},
        ],
    )

    assert len(talk.texts(items.GOAL)) == 1


@pytest.mark.parametrize(
    ("rule", "permission"),
    [
        ("never use the prod database", "ok you can use the prod database now, read-only"),
        ("Never use sudo.", "you may use sudo for apt this once"),
        ("Never use sudo.", "you may use sudo for apt"),
        ("Never deploy to prod.", "You may deploy to prod today after 6pm"),
        ("Don't push to main.", "you may push to main until 5 pm"),
        ("Don't push to main.", "you may push to main as long as CI is green"),
    ],
)
def test_a_limited_permission_stands_beside_its_rule(
    talk: Talk, rule: str, permission: str
) -> None:
    """Both hold, in the user's words."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user(rule)
    talk.user(permission)

    assert talk.texts(items.CONSTRAINT) == [rule, permission]


def test_a_permission_without_a_limit_is_kept_beside_the_rule_it_ended(talk: Talk) -> None:
    """In the user's words, among what has ended."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user("Never use sudo.")
    talk.user("ok you may use sudo now")

    assert talk.texts(items.CONSTRAINT) == []
    assert talk.texts(items.DECISION, status=items.DONE) == [
        'Rule lifted by the user: "ok you may use sudo now"'
    ]


def test_a_corrected_figure_takes_the_place_of_the_first(talk: Talk) -> None:
    """Only what was said of the same thing."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user("Use port 8080. Use 3 workers.")
    talk.user("sorry, make that port 9090")

    assert talk.texts(items.DECISION) == ["Use 3 workers.", "sorry, make that port 9090"]
    assert talk.texts(items.DECISION, status=items.SUPERSEDED) == ["Use port 8080."]


def test_one_line_of_a_numbered_list_does_not_end_the_request(talk: Talk) -> None:
    """Its lines stand in the goal without marks between them."""
    talk.user("Let's tidy the portal a bit today.")
    talk.user("Please do these:\n1. fix the login page\n2. update the docs\n3. add a test for SSO")
    talk.assistant("I've fixed the login page.")

    assert "fix the login page add a test for SSO" in talk.texts(items.GOAL)
    assert talk.texts(items.FACT, status=items.DONE) == ["Please do these: fix the login page"]
