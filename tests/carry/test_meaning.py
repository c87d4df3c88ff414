"""What a sentence is taken for, by who says it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.carry import items
from brimline.carry.meaning import Heard, hear
from brimline.carry.sentences import Sentence, sentences

SOURCES = (items.USER, items.ASSISTANT, items.SUBAGENT)


def heard(text: str, source: str = items.USER) -> Heard:
    """What the last sentence of a text was taken for."""
    return hear(sentences(text)[-1], source)


@pytest.mark.parametrize(
    "text",
    [
        "Never force-push to main.",
        "please don't touch vendor/",
        "You must not edit the lockfile.",
        "Always run the linter first.",
        "Only use Python 3.11 here.",
        "Don't deploy until I say so.",
        "No commits before Petra has seen it.",
        "Make sure the old API keeps working.",
        "Under no circumstances drop the table.",
        "Keep config.toml as is.",
        "stay away from infra/",
        "Leave the cron job alone.",
        "You are not allowed to call the real API.",
        "I want you to ask before adding packages.",
        "Avoid global state.",
        "Nothing goes out without my ok.",
        "Could you please not reformat the file?",
        "ok, and please never push",
        "The customer insists that no data leaves the EU.",
    ],
)
def test_a_rule_of_the_user_is_a_constraint(text: str) -> None:
    """However directly or politely it is put."""
    assert heard(text).kind == items.CONSTRAINT
    assert heard(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "it never works on my machine",
        "The hook is never called.",
        "I don't know why it fails here",
        "why don't we use the cache?",
        "the only problem left is the timeout",
        "This always happens after lunch.",
        "no, that is the wrong file",
        "and no commit was triggered",
        "the branch doesn't contain the fix",
    ],
)
def test_what_only_tells_how_things_are_is_no_constraint(text: str) -> None:
    """The same words in a report or a question rule nothing."""
    assert heard(text).kind != items.CONSTRAINT


def test_a_rule_in_a_list_brings_the_words_that_introduce_it() -> None:
    """Alone, `the seed data` would mean nothing."""
    found = heard("Do not touch:\n- the seed data")

    assert (found.kind, found.text) == (items.CONSTRAINT, "Do not touch: the seed data")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("let's go with Postgres", items.USER),
        ("Use tokio, not async-std.", items.USER),
        ("We decided to keep the monolith.", items.USER),
        ("I'll use SQLite instead of Redis because it is there.", items.ASSISTANT),
        ("Going with gRPC for the workers.", items.ASSISTANT),
        ("I chose pytest over unittest.", items.ASSISTANT),
        ("We settled on one queue per tenant.", items.ASSISTANT),
    ],
)
def test_a_choice_is_a_decision(text: str, source: str) -> None:
    """The user's and the assistant's."""
    assert heard(text, source).kind == items.DECISION


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("scrap the GraphQL idea", items.USER),
        ("Kafka is off the table.", items.USER),
        ("Celery? no.", items.USER),
        ("I ruled out Kafka because it needs a cluster.", items.ASSISTANT),
        ("Not using an ORM here.", items.ASSISTANT),
        ("I considered Lua but nobody knows it.", items.ASSISTANT),
    ],
)
def test_an_option_that_was_turned_down_is_rejected(text: str, source: str) -> None:
    """So that it is not proposed again."""
    assert heard(text, source).kind == items.REJECTED


@pytest.mark.parametrize(
    "text",
    [
        "TODO: write the changelog",
        "Next: bump the version",
        "later we need to translate the pages",
        "also add a CSV export",
        "don't forget to tell Ines",
        "- [ ] update the screenshots",
        "please tidy the fixtures later",
    ],
)
def test_what_the_user_puts_off_is_a_task(text: str) -> None:
    """Work for another moment."""
    assert heard(text).kind == items.TASK


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Remaining work: the importer.", items.TASK),
        ("Next steps:\n- wire the flag", items.TASK),
        ("Let me run the tests now.", None),
        ("Would you like me to commit this?", None),
        ("The server rejected the request.", items.FACT),
        ("The parser uses a table instead of a switch.", items.FACT),
    ],
)
def test_the_assistants_narration_and_descriptions_are_not_choices(
    text: str, expected: str | None
) -> None:
    """What it will do next is nothing; how code behaves is a fact at most."""
    assert heard(text, items.ASSISTANT).kind == expected


def test_users_weigh_more_than_models_and_figures_more_than_prose() -> None:
    """The order in which facts find room in a card."""
    exact = "The staging port is 8443."
    weights = [heard(exact, source).weight for source in (items.USER, items.SUBAGENT)]
    weights += [heard(exact, items.ASSISTANT).weight, heard("It looks rather plain here").weight]

    assert weights[0] > weights[1] > weights[2]
    assert weights[0] > weights[3]


@pytest.mark.parametrize("text", ["ok", "yes, go on", "looks good, thanks", "hm"])
def test_an_acknowledgement_is_nothing(text: str) -> None:
    """It is not even a fact."""
    assert heard(text).kind is None


@pytest.mark.parametrize(
    ("text", "source", "status"),
    [
        ("I'm done with the exporter.", items.ASSISTANT, items.DONE),
        ("The exporter is merged.", items.USER, items.DONE),
        ("- [x] the exporter", items.ASSISTANT, items.DONE),
        ("Never mind the exporter.", items.USER, items.CANCELLED),
        ("The exporter is no longer needed.", items.USER, items.CANCELLED),
        ("You may push now.", items.USER, items.SUPERSEDED),
    ],
)
def test_an_end_is_told_with_what_it_ends(text: str, source: str, status: str) -> None:
    """Done, cancelled or lifted."""
    assert heard(text, source).endings[0].status == status


@pytest.mark.parametrize(
    "text", ["Is the exporter done?", "The exporter is not done yet.", "It will be merged soon."]
)
def test_what_is_not_done_ends_nothing(text: str) -> None:
    """Questions, negations and promises."""
    assert items.DONE not in {ending.status for ending in heard(text).endings}


@given(st.text(min_size=1), st.text(), st.sampled_from(SOURCES))
def test_any_sentence_can_be_heard(text: str, lead: str, source: str) -> None:
    """No text raises, whoever says it."""
    hear(Sentence(text, lead, is_item=True), source)
