"""What a sentence affirms and rules out, and which exact values it has."""

from __future__ import annotations

import pytest

from brimline.carry import clauses, exact


def against(text: str) -> set[str]:
    """The words that a sentence rules out or ties to a condition."""
    return {
        word
        for clause, direction in clauses.clauses(text)
        if direction != clauses.FOR
        for word in clause
    }


@pytest.mark.parametrize(
    ("text", "ruled_out", "affirmed"),
    [
        ("never deploy", {"deploy"}, set()),
        ("don't push or tag", {"push", "tag"}, set()),
        ("Never deploy, push or tag here", {"deploy", "push", "tag"}, set()),
        ("use postgres, not sqlite", {"sqlite"}, {"postgres"}),
        ("postgres rather than sqlite for the queue", {"sqlite"}, {"postgres", "queue"}),
        ("prefer composition over inheritance in tests", {"inheritance"}, {"composition"}),
        ("deploying on fridays is forbidden", {"deploying", "fridays"}, set()),
        ("the mobile team was not allowed to deploy", {"deploy"}, set()),
        ("do not merge until ci is green", {"merge"}, {"ci", "green"}),
        ("only merge once ci is green", {"merge"}, {"ci", "green"}),
        ("never push without review", {"push"}, {"review"}),
        ("don't forget to run the tests", set(), {"run", "tests"}),
        ("not only maria but stefan too", set(), {"maria", "stefan"}),
        ("under no circumstances delete it", {"delete"}, set()),
        ("leave the dockerfile alone", {"dockerfile"}, set()),
        ("Celery was ruled out", {"celery"}, set()),
        ("there is no need to run lint", {"run", "lint"}, set()),
    ],
)
def test_words_take_the_direction_of_their_clause(
    text: str, ruled_out: set[str], affirmed: set[str]
) -> None:
    """Negations before and after, contrasts, conditions, and idioms that only look like one."""
    found = against(text)

    assert ruled_out <= found
    assert not affirmed & found


def test_what_stands_under_a_heading_keeps_it() -> None:
    """Headings, bullets, wrapped lines and sentences on one line are told apart."""
    text = (
        "## Open tasks\n- one thing. Another thing\n  that is wrapped\n2) third\n\nDone:\n* [x] it"
    )

    assert clauses.sentences(text) == [
        ("## Open tasks", "Open tasks"),
        ("one thing.", "Open tasks"),
        ("Another thing that is wrapped", "Open tasks"),
        ("third", "Open tasks"),
        ("Done:", "Done"),
        ("it", "Done"),
    ]


@pytest.mark.parametrize(
    ("text", "names", "numbers"),
    [
        ("src/app.py sets max_mb to 64", {"src/app.py", "max_mb"}, {"64"}),
        ("run `make lint` and/or read/write", {"make lint"}, set()),
        ("1,000 rows in 200ms, see v2.1.3", {"v2.1.3"}, {"1000", "200"}),
        ("10.4.17.22:5433 on db-02", {"10.4.17.22:5433", "db-02"}, set()),
        ("use --force, -v and SameSite=Lax", {"--force", "-v", "SameSite=Lax"}, set()),
        ('call it "blue door" and .env', {"blue door", ".env"}, set()),
        ("camelCase e.g. here, i.e. there.", {"camelCase"}, set()),
        ("https://x.example/a?b=1 is it", {"https://x.example/a?b=1"}, set()),
    ],
)
def test_exact_values_are_found(text: str, names: set[str], numbers: set[str]) -> None:
    """Paths, names, flags, versions, hosts and quoted pieces; figures without separators."""
    found = exact.values(text)

    assert found.numbers == numbers
    assert names <= found.names
    assert not any(name in ("and/or", "read/write", "e.g", "i.e") for name in found.names)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("see config/limits.yaml.", "limits.yaml", True),
        ("see limits.yaml.bak", "limits.yaml", False),
        ("(max_mb)", "max_mb", True),
        ("max_mb_total", "max_mb", False),
        ("/opt/etc/app", "/etc/app", False),
        ("at /etc/app, now", "/etc/app", True),
        ("prod.env", ".env", False),
        ("", "a", False),
    ],
)
def test_a_name_counts_only_by_itself(text: str, name: str, expected: bool) -> None:
    """Not as a part of a longer one; the end of a path may be enough for a file."""
    assert exact.has_name(text, name) is expected
