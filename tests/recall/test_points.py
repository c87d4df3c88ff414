"""An entry as a point on the server, and what is believed of a teammate's."""

from __future__ import annotations

import subprocess
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from brimline.recall import points, turns
from brimline.recall.points import MOST_CHARACTERS, Item
from brimline.recall.record import Hit, Record

if TYPE_CHECKING:
    from pathlib import Path

HOME = {"home": "h1", "author": "mia"}
PAYLOAD: dict[str, Any] = {
    "text": "The otter plan.",
    "previous": "p0",
    "project": "example.com/shop",
    "session": "s1",
    "at": 1_767_225_600.0,
    "source": "user",
    "author": "mia",
}


def item(text: str, before: str = "") -> Item:
    """An entry on its way to the server."""
    return Item(Record("id", text, "s1", 5.0, "user", "example.com/shop"), before, "id before")


def answered(*scores: float, **fields: Any) -> list[Any]:
    """What the server found: one point, with its score by each way that was asked."""
    point = {"id": "p1", "payload": PAYLOAD | fields}
    return [{"points": [point | {"score": score}]} for score in scores]


def weights(text: str, before: str = "", of: str = points.WORDS) -> dict[int, float]:
    """What the words of a text weigh, by their numbers."""
    (point,) = points.to_points([item(text, before)], HOME)
    sparse = point["vector"][of]
    return dict(zip(sparse["indices"], sparse["values"], strict=True))


def test_a_word_weighs_more_the_oftener_it_is_there_and_less_in_a_longer_text() -> None:
    """By the formula of the search here, for a text of a usual length."""
    (alone,) = weights("otter").values()
    (twice,) = weights("otter otters").values()
    usual = weights(
        "otter " + " ".join(f"word{number}" for number in range(points._USUAL_WORDS - 1))
    )
    longer = points._B / points._USUAL_WORDS

    assert alone == pytest.approx(2.2 / (1 + 1.2 * (0.25 + longer)), abs=1e-4)
    assert twice == pytest.approx(4.4 / (2 + 1.2 * (0.25 + 2 * longer)), abs=1e-4)
    assert set(usual.values()) == {1.0}


def test_words_of_the_entry_before_weigh_only_in_the_pair() -> None:
    """And count for its length."""
    own, pair = (weights("otter", "beaver", of=name) for name in (points.WORDS, points.PAIR))

    assert len(own) == 1
    assert len(pair) == 2
    assert own[next(iter(own))] == pair[next(iter(own))] < max(weights("otter").values())


def test_a_point_has_what_is_common_and_not_the_text_before_it() -> None:
    """That is in a point of its own."""
    (point,) = points.to_points([item("otter", "beaver")], HOME)

    assert point["id"] == "id"
    assert point["payload"] == {
        "text": "otter",
        "previous": "id before",
        "project": "example.com/shop",
        "session": "s1",
        "at": 5.0,
        "source": "user",
        **HOME,
    }
    assert set(point["vector"]) == {"words", "pair"}


def test_the_same_words_are_one_point_in_a_home_and_another_in_each_other() -> None:
    """What names the entry is its file's last part, so that a moved folder changes nothing."""
    first = points.point_id("h1", "p", "s", "/a/row1", "text")

    assert points.point_id("h1", "p", "s", "/b/row1", "text") == first
    others = [("h2", "p", "s"), ("h1", "q", "s"), ("h1", "p", "t")]
    ids = {points.point_id(*other, "/a/row1", "text") for other in others}
    ids |= {points.point_id("h1", "p", "s", "/a/row2", "text")}
    ids |= {points.point_id("h1", "p", "s", "/a/row1", "other")}
    assert len(ids - {first}) == 5


def test_what_is_asked_leaves_out_ones_own_and_other_projects() -> None:
    """By pairs, and the same ones by words; each word counts alike. One answer has the texts."""
    pair, words = points.make_searches("the otter plan", "h1", "p1")
    everywhere, _ = points.make_searches("the otter plan", "h1", None)

    assert (pair["using"], words["using"], pair["with_payload"]) == ("pair", "words", True)
    assert "with_payload" not in words
    assert words["query"]["values"] == [1.0, 1.0]
    (same,) = words["prefetch"]
    for found in (pair, same):
        assert found["filter"]["must_not"] == [points.match_condition("home", "h1")]
        assert found["filter"]["must"] == [points.match_condition("project", "p1")]
        assert found["limit"] == words["limit"] == turns.CANDIDATES
    assert "must" not in everywhere["filter"]
    assert points.make_searches("…", "h1", None) == []


def test_words_that_no_blank_divides_are_on_the_server_too() -> None:
    """As they are in the search here."""
    asked, _ = points.make_searches("検索", "h1", None)

    assert set(asked["query"]["indices"]) <= set(weights("検索が遅い"))


def test_no_score_is_believed_that_no_honest_point_has() -> None:
    """So much for each word of the question, in either direction."""
    most = 2 * points._MOST_PER_WORD
    query = "otter plan"
    ((fair, fair_fit),) = points.read_search_answers(answered(3.0, 2.0), query, None)
    ((_, high_fit),) = points.read_search_answers(answered(1e9, 1e9), query, None)
    ((_, low_fit),) = points.read_search_answers(answered(-1e9, float("nan")), query, None)

    assert fair_fit == (2.0, 3.0)
    assert high_fit == (most, most)
    assert low_fit == (0.0, -most)
    assert fair.previous == "p0"


def test_of_a_teammates_point_only_what_we_would_write_is_taken() -> None:
    """Bounded in length and time, with somebody's name in any case."""

    def taken(project: str | None = None, **fields: Any) -> Any:
        others = points.read_search_answers(answered(0.5, 0.5, **fields), "otter", project)
        return [hit for hit, _ in others]

    (long,) = taken(text="x" * (MOST_CHARACTERS + 1), author="a" * 999, at=1e11)
    (usual,) = taken(author="", at=1e11 - 1)

    lengths = (MOST_CHARACTERS, points._LABEL_CHARACTERS)
    assert (len(long.record.text), len(long.author), long.record.at) == (*lengths, 0.0)
    assert (usual.author, usual.record.at) == ("the team", 1e11 - 1)
    assert usual.number >= points._FIRST_NUMBER
    assert len(taken("example.com/shop")) == 1
    for wrong in ({"source": "system"}, {"at": "soon"}, {"text": None}, {"text": "\ud800"}):
        assert taken(**wrong) == []
    assert taken("another") == []


@pytest.mark.parametrize(
    ("remote", "label"),
    [
        ("git@Example.org:team/Shop.git", "example.org/team/shop"),
        ("https://mia:secret@example.org:8443/team/shop/", "example.org/team/shop"),
        ("ssh://git@example.org/~mia/shop", "clone"),
        ("file:///srv/shop", "clone"),
        ("/srv/shop", "clone"),
        ("C:/shop", "clone"),
        ("", "clone"),
    ],
)
def test_a_project_is_called_as_its_origin_is(tmp_path: Path, remote: str, label: str) -> None:
    """Nothing of a disk and no login; else by its folder, whatever it was called before."""
    folder = tmp_path / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir()
    config = f'[remote "origin"]\n\turl = {remote}\n' if remote else ""
    (folder / ".git" / "config").write_text(f"[core]\n\tbare = false\n{config}")

    assert points.project_label(f"{folder}/", "before") == label


def test_a_projects_name_is_by_its_own_file_and_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings beside a stranger's folder name no other project, and a long one takes no time."""
    own, settings = tmp_path / "clone", tmp_path / "planted" / "git" / "config"
    settings.parent.mkdir(parents=True)
    settings.write_text('[remote "origin"]\n\turl = https://example.org/team/secret\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "planted"))
    subprocess.run(["git", "init", "-q", str(own)], check=True)

    assert points.project_label(str(own)) == "clone"

    url = f"https://example.org/a{'.git' * 1_000}{'/' * 2_000}"
    with (own / ".git" / "config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = {url}!\n')
    assert points.project_label(str(own)).startswith("example.org/a.git")


def test_a_teammates_hit_has_a_number_that_none_here_has() -> None:
    """A large one and what its name makes of it; a score comes later."""
    ((hit, _),) = points.read_search_answers(answered(0.5, 0.5), "otter", None)

    assert hit.number == points._FIRST_NUMBER + zlib.crc32(b"p1")
    said = Record("p1", "The otter plan.", "s1", 1_767_225_600.0, "user", "example.com/shop")
    assert hit == Hit(said, hit.number, author="mia", previous=PAYLOAD["previous"])


def test_figures_of_a_point_have_five_digits_behind_the_point() -> None:
    """So that the same words are the same point everywhere."""
    (point,) = points.to_points([item("otter beaver otter", "elk")], HOME)
    figures = [*point["vector"]["words"]["values"], *point["vector"]["pair"]["values"]]

    assert figures == [round(figure, 5) for figure in figures]
    assert figures != [round(figure, 4) for figure in figures]


@pytest.mark.parametrize("name", ["session", "project"])
def test_long_labels_of_a_teammates_point_are_cut(name: str) -> None:
    """On one line."""
    long = {name: "a\n" + "b" * 200}
    ((hit, _),) = points.read_search_answers(answered(0.5, 0.5, **long), "otter", None)

    label = getattr(hit.record, name)
    assert label == "a " + "b" * (points._LABEL_CHARACTERS - 3) + "…"


def test_a_folder_that_git_says_nothing_of_is_called_by_its_name_or_its_last_label() -> None:
    """A folder of no repository has its own name."""
    assert points.project_label("/gone/shop/", "example.com/shop") == "example.com/shop"
    assert points.project_label("/gone/shop/") == "shop"
    assert points.project_label("shop") == "shop"
