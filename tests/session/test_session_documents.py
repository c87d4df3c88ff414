"""What `brimline session` says for programs: the values under the keys that others rely on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from brimline.session import repair, session_documents
from brimline.testing import SessionBuilder

from .broken import BREAKS, lines_of, worked
from .recorded import Recorded, output

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def recorded(world: Path, home_dir: str) -> Recorded:
    """A session with one old result and one that stays."""
    session = Recorded(str(world / "s1.jsonl"), "s1", home_dir=home_dir)
    session.prompt("begin")
    session.call(output("old"))
    session.talk()
    session.call("short")
    return session


def test_an_inspection_has_every_figure_under_its_key(recorded: Recorded) -> None:
    """What is not known is null."""
    found = session_documents.inspection_document(recorded.path, recorded.home_dir)

    size = os.path.getsize(recorded.path)
    assert (found["session_id"], found["transcript"]) == ("s1", recorded.path)
    assert (found["size_bytes"], found["lines"]) == (size, len(recorded.rows))
    times = [fields["timestamp"] for fields in recorded.rows]
    assert (found["first_at"], found["last_at"]) == (times[0], times[-1])
    assert (found["turns"], found["requests"], found["compactions"]) == (1, 14, 0)
    assert found["occupancy_tokens"] == [50_000, *[60_000] * 12, 50_000]
    assert (found["peak_tokens"], found["models"]) == (60_000, {recorded.model: 14})
    assert found["records"] == {"assistant": 14, "user": 3}
    assert [found["faults"], found["notes"], found["lost_thinking"]] == [[], [], []]
    largest, least = found["largest_results"]
    about = {"tool": "Bash", "source": "make", "in_context": True, "moved_out": False} | {
        "cut_by_client": False
    }
    assert largest == {"bytes": len(output("old").encode()), "request": 1} | about
    assert least == {"bytes": 5, "request": 14} | about
    context = found["context"]
    assert context["occupancy_tokens"] == 50_000
    assert context["purged_since_tokens_estimated"] == 0
    next_one = context["next_request_tokens_estimated"]
    assert next_one == 50_000 + context["since_tokens_estimated"]
    assert (found["resume_tokens_estimated"], found["resume_undoes_a_compaction"]) == (
        next_one,
        False,
    )


def test_an_empty_session_has_no_largest_request(world: Path, home_dir: str) -> None:
    """Nor any time at which it was active."""
    path = world / "none.jsonl"
    path.write_bytes(b"")

    found = session_documents.inspection_document(str(path), home_dir)

    assert (found["session_id"], found["peak_tokens"], found["first_at"]) == ("none", None, None)
    assert (found["requests"], found["lines"]) == (0, 0)


def test_a_purge_tells_what_goes_and_what_stays(recorded: Recorded) -> None:
    """The results that go are named in the order of the session."""
    planned = recorded.plan()

    found = session_documents.purge_plan_document(recorded.path, planned)

    assert (found["path"], found["session"]) == (recorded.path, "s1")
    assert (found["bytes"], found["lines"]) == (os.path.getsize(recorded.path), 17)
    assert (found["requests"], found["occupancy_tokens"]) == (14, 50_000)
    assert (found["threshold_bytes"], found["keep_requests"]) == (None, 10)
    assert found["results"] == 1
    assert 1_000 < found["context_tokens_saved_estimated"] < 3_000
    assert found["disk_bytes_saved"] > 5_000
    assert found["kept"] == {"pinned": 0, "preserved": 0, "unparsed_lines": 0}
    assert [found[f"thoughts{key}"] for key in ("", "_lost", "_tokens_estimated")] == [0, 0, 0]
    (result,) = session_documents.documents_of_results_to_purge(planned)
    key = result.pop("key")
    assert key.startswith("sha256:")
    size = len(output("old").encode())
    assert result == {"request": 1, "tool": "Bash", "source": "make"} | {"bytes": size}


def test_a_repair_tells_what_it_found_and_did(world: Path, home_dir: str) -> None:
    """Before and after, each fault with its line, its meaning and its mend."""
    lines = lines_of(worked(SessionBuilder(str(world / "sound.jsonl"))))
    path = world / "s.jsonl"
    path.write_bytes(b"".join(BREAKS["dangling_parent"](lines)))
    os.utime(path, (1_000, 1_000))

    looked = repair.Report(str(path), repair.examine(str(path)))
    done = repair.repair(str(path), home_dir=home_dir)

    would = session_documents.repair_document(looked, dry_run=True)
    did = session_documents.repair_document(done, dry_run=False)
    (fault,) = would["mended"]
    assert (fault["kind"], fault["mend"], fault["in_context"]) == (
        "dangling_parent",
        "relink",
        True,
    )
    assert fault["meaning"].startswith("the parent is not in the session")
    assert (would["dry_run"], would["changed"], would["after"]) == (True, False, None)
    assert would["before"] == {"faults": [fault], "notes": []}
    assert (did["dry_run"], did["changed"]) == (False, True)
    assert did["after"] == {"faults": [], "notes": []}
    assert did["mended"] == [fault]
    assert did["transcript"] == str(path)
