"""The audit after a compaction, kept beside the ledger as `audit-<n>.json` for the n-th of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from brimline import clock, fastio, libraries, paths
from brimline.carry import findings, likeness, verdict
from brimline.carry.findings import Audit, Finding, missing_beyond_card, remainder

if TYPE_CHECKING:
    from brimline.carry.items import Ledger
    from brimline.carry.likeness import Likeness

__all__ = [
    "Audit",
    "Finding",
    "audit",
    "load",
    "load_all",
    "missing_beyond_card",
    "remainder",
    "save",
]

FORMAT = 1
_PREFIX, _SUFFIX = "audit-", ".json"
_MOST_BYTES = 16 << 20


def audit(
    summary: str,
    ledger: Ledger,
    card_text: str,
    *,
    home_dir: str | None = None,
    measure: Likeness | None = None,
) -> Audit:
    """Compare a summary with the ledger: each open item is kept, paraphrased or missing.

    Args:
        summary: as the model wrote it; its analysis does not count, for it goes no further.
        ledger: what had to survive.
        card_text: what was given back after the compaction.
        home_dir: the data folder, where a hook finds out where its libraries are.
        measure: how words are compared; None for the best there is.
    """
    if measure is None:
        if home_dir is not None:
            libraries.make_importable(home_dir)
        measure = likeness.best()
    return findings.compare(summary, ledger, card_text, measure)


def save(
    home_dir: str,
    session_id: str,
    number: int,
    found: Audit,
    *,
    trigger: str | None = None,
    pre_tokens: int | None = None,
    post_tokens: int | None = None,
) -> str:
    """Keep an audit; returns its path.

    Args:
        home_dir: the data folder.
        session_id: the session.
        number: which of its compactions this was; an audit that is there already is never replaced,
            the next free number is taken instead.
        found: the audit.
        trigger: who asked for the compaction.
        pre_tokens: tokens before it.
        post_tokens: tokens after it.

    Raises:
        OSError: it cannot be written.
    """
    folder = paths.carry_session_dir(home_dir, session_id)
    number = max([number, *[known + 1 for known in _numbers(fastio.names_in(folder))]])
    document = {
        "v": FORMAT,
        "number": number,
        "at": round(clock.now(), 3),
        "session": paths.safe_session_id(session_id),
        "trigger": trigger,
        "pre_tokens": pre_tokens,
        "post_tokens": post_tokens,
    } | to_document(found)
    while not fastio.create_exclusively(_path(folder, number), _encoded(document)):
        number += 1
        document["number"] = number
    return _path(folder, number)


def to_document(found: Audit) -> dict[str, Any]:
    """An audit as JSON values, with the counts that a reader wants first."""
    restored = findings.restored_by(found)
    return {
        "summary_characters": found.summary_characters,
        "measure": found.measure,
        "kept": len(found.of(verdict.KEPT)),
        "paraphrased": len(found.of(verdict.PARAPHRASED)),
        "missing": len(found.of(verdict.MISSING)),
        "restored": len(restored),
        "items": [_entry(finding, restored.get(finding.item.id)) for finding in found.findings],
    }


def load(home_dir: str, session_id: str, number: int) -> dict[str, Any] | None:
    """An audit as it was kept; None without a sound one."""
    path = _path(paths.carry_session_dir(home_dir, session_id), number)
    try:
        found = json.loads(fastio.read_file(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return found if _is_sound(found) else None


def load_all(home_dir: str, session_id: str) -> list[dict[str, Any]]:
    """All sound audits of a session, oldest first."""
    names = fastio.names_in(paths.carry_session_dir(home_dir, session_id))
    found = [load(home_dir, session_id, number) for number in sorted(_numbers(names))]
    return [document for document in found if document is not None]


def _path(folder: str, number: int) -> str:
    return f"{folder}/{_PREFIX}{number}{_SUFFIX}"


def _encoded(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace")


def _entry(finding: Finding, restored: str | None) -> dict[str, Any]:
    return {
        "id": finding.item.id,
        "kind": finding.item.kind,
        "text": finding.item.text,
        "verdict": finding.verdict,
        "score": finding.score,
        "why": finding.why or None,
        "in_card": finding.in_card,
        "restored": restored,
    }


def _numbers(names: list[str]) -> list[int]:
    middles = [
        name[len(_PREFIX) : -len(_SUFFIX)]
        for name in names
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
    ]
    return [int(text) for text in middles if text.isascii() and text.isdigit()]


def _is_sound(found: Any) -> bool:
    if not isinstance(found, dict) or found.get("v") != FORMAT:
        return False
    counts = ("kept", "paraphrased", "missing", "restored", "summary_characters")
    return all(isinstance(found.get(name), int) for name in counts) and (
        isinstance(found.get("at"), int | float) and isinstance(found.get("items"), list)
    )
