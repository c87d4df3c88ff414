"""An entry as a point on the server and back: its id by content, its words, its payload.

BM25 comes in two halves: weights of the words in a text here, how rare a word is on the server. The
words are those of the local search, as SQLite's tokenizer has them.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import output, programs
from brimline.foreign import flatten
from brimline.masking import mask
from brimline.recall import deep, question, ranking
from brimline.recall.qdrant import refuse_strange_answers
from brimline.recall.record import Hit, Record
from brimline.recall.turns import CANDIDATES

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS, PAIR = "words", "pair"
INDEXED = {"project", "session", "author", "home"}
MOST_CHARACTERS = 20_000
# As SQLite has them; how long a text and the one before it are on average is not known here.
_K1, _B, _USUAL_WORDS = 1.2, 0.75, 100
# How often each term is in a text, in both, and how many terms both have.
_COUNTS = """
    SELECT doc, term, sum(col = 'text'), count(*), sum(count(*)) OVER (PARTITION BY doc)
    FROM words GROUP BY doc, term
"""
# A host and a path that hold no more than names: nothing of a disk, no login, no token.
_REMOTE = re.compile(
    r"(?!file:)(?:(?:https?|ssh|git)://(?:[^@/?#]*@)?(?P<host>[\w.-]+)(?::\d+)?/"
    r"|(?:[\w.-]+@)?(?P<name>[\w.-]{2,}):)/?(?P<path>[\w.+-][\w.+/-]*?)(?:\.git)?/*",
    re.ASCII | re.IGNORECASE,
)
_LABEL_CHARACTERS = 100
# The pattern takes long for a longer one that means it harm.
_REMOTE_CHARACTERS = 1_000
_FIRST_NUMBER = 10**11
# What an honest word adds to a score at most: it is in one of a million entries, and in this often.
_MOST_PER_WORD = 30.0
# Those of entries that a program added itself may be empty.
_SOURCES = ("", *deep.SOURCES)
_GIT_S = 2.0


class Item(NamedTuple):
    """An entry on its way to the server, all of it by names that all machines know."""

    record: Record
    before: str
    previous: str


def project_label(folder: str, last_label: str = "") -> str:
    """A project by what its repository is cloned from, else by its folder's name.

    Where the folder is gone, or git does not answer, by the label that it had.
    """
    # Its own file alone: the settings in a home are of no project.
    arguments = ("config", "--local", "--default", "", "--get", "remote.origin.url")
    remote = programs.run_git(folder, arguments, timeout_s=_GIT_S)
    match = _REMOTE.fullmatch((remote or "").strip()[:_REMOTE_CHARACTERS])
    if match:
        return mask(f"{match['host'] or match['name']}/{match['path']}".lower())
    is_known = remote is not None or (
        os.path.isdir(folder) and not programs.is_in_repository(folder)
    )
    return ("" if is_known else last_label) or folder.rstrip("/").rpartition("/")[2]


def point_id(home: str, project: str, session: str, ref: str, text: str) -> str:
    """Of one home, as others may have said the same; and by content, so that it is sent once."""
    parts = (home, project, session, ref.rpartition("/")[2], text)
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\0".join(parts)))


def points_schema() -> dict[str, Any]:
    """Return what a collection is made of."""
    return {"vectors": {}, "sparse_vectors": {name: {"modifier": "idf"} for name in (WORDS, PAIR)}}


def to_points(items: Sequence[Item], common: dict[str, str]) -> list[dict[str, Any]]:
    """Entries as the server takes them, each with what is common to all."""
    texts = [item.record.text for item in items]
    shown = [f"{text} {question.hidden_words(text)}" for text in texts]
    sparse = _pair_weights([(item.before, text) for item, text in zip(items, shown, strict=True)])
    made = []
    for item, (words, pair) in zip(items, sparse, strict=True):
        told = output.pick_attrs(item.record, "text project session at source")
        payload = told | {"previous": item.previous} | common
        vector = {WORDS: words, PAIR: pair}
        made.append({"id": item.record.ref, "vector": vector, "payload": payload})
    return made


def make_searches(query: str, home: str, project: str | None) -> list[dict[str, Any]]:
    """One request: what other homes have, by words with the entry before, and by words."""
    ((words, _),) = _pair_weights([("", " ".join(question.words_but_stop_words(query)))])
    asked = {"indices": words["indices"], "values": [1.0] * len(words["indices"])}
    only = {"must_not": [match_condition("home", home)]}
    only |= {} if project is None else {"must": [match_condition("project", project)]}
    by_pair = {"using": PAIR, "query": asked, "limit": CANDIDATES}
    found = by_pair | {"filter": only}
    same = {"prefetch": [found], "using": WORDS, "query": asked, "limit": CANDIDATES}
    return [found | {"with_payload": True}, same] if words["indices"] else []


def match_condition(field: str, value: str) -> dict[str, Any]:
    """A condition of the server's."""
    return {"key": field, "match": {"value": value}}


def read_search_answers(
    answers: Any, query: str, project: str | None
) -> list[tuple[Hit, ranking.Found]]:
    """Return what the server found; points that are not ours, or of another project, are left out.

    A teammate's point has the weights that he gave it: what no honest one scores is not believed.

    Raises:
        TeamError: these are no answers to our questions.
    """
    made = []
    most = _MOST_PER_WORD * len(question.words_but_stop_words(query))
    with refuse_strange_answers():
        pair, words = (
            {point["id"]: _clamp_to_plus_minus(point["score"], most) for point in answer["points"]}
            for answer in answers
        )
        for point in answers[0]["points"]:
            key, payload = point["id"], point.get("payload")
            found = ranking.Found(words.get(key, 0.0), pair[key])
            with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
                if project in (None, payload["project"]):
                    made.append((_make_hit(str(key), payload), found))
    return made


def _make_hit(key: str, payload: dict[str, Any]) -> Hit:
    """A stranger's text: nothing in it is obeyed by a terminal, and it is not endless."""
    if payload["source"] not in _SOURCES:
        raise ValueError("no source that brimline writes")
    text, at = mask(payload["text"][:MOST_CHARACTERS]), float(payload["at"])
    session, source, project, author = (
        flatten(mask(payload[name][:MOST_CHARACTERS]), _LABEL_CHARACTERS)
        for name in ("session", "source", "project", "author")
    )
    f"{text}{payload['previous']}".encode()  # half a character can be searched for by nobody
    number = _FIRST_NUMBER + zlib.crc32(key.encode())
    at = at if abs(at) < _FIRST_NUMBER else 0.0
    found = Record(key, text, session, at, source, project)
    previous = str(payload["previous"])
    return Hit(found, number, author=author or "the team", previous=previous)


def _clamp_to_plus_minus(value: Any, most: float) -> float:
    return max(-most, min(float(value), most)) if value == value else 0.0  # noqa: PLR0124 - is a number


def _pair_weights(pairs: Sequence[tuple[str, str]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Of each text, and of it with the one before, what its words weigh."""
    made: list[tuple[dict[int, float], dict[int, float]]] = [({}, {}) for _ in pairs]
    with question.empty_word_table("before, text") as base:
        base.execute("CREATE VIRTUAL TABLE words USING fts5vocab(turns, instance)")
        rows = [(number, *pair) for number, pair in enumerate(pairs)]
        base.executemany("INSERT INTO turns (rowid, before, text) VALUES (?, ?, ?)", rows)
        counts = base.execute(_COUNTS).fetchall()
    for number, term, own, both, length in counts:
        damping = _K1 * (1 - _B + _B * length / _USUAL_WORDS)
        key = zlib.crc32(term.encode())
        for weights, count in zip(made[number], (own, both), strict=True):
            if count:
                weights[key] = weights.get(key, 0.0) + count * (_K1 + 1) / (count + damping)
    sparse = [[{"indices": list(w), "values": _round_all(w.values())} for w in two] for two in made]
    return [(own, both) for own, both in sparse]


def _round_all(values: Any) -> list[float]:
    return [round(float(value), 5) for value in values]
