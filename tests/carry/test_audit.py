"""The audit of a summary: verdicts, what the card restored, what is given back once, its file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline import libraries
from brimline.carry import audit, card, findings, items, likeness

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the `benchmarks` package of the checkout importable."""
    monkeypatch.syspath_prepend(str(ROOT))


def ledger_of(*entries: tuple[str, str], **extra: object) -> items.Ledger:
    """A ledger with open items of the user."""
    ledger = items.Ledger(SESSION)
    for kind, text in entries:
        ledger.add(items.Item(kind, text, items.USER, extra=dict(extra)))
    return ledger


def verdict_of(summary: str, text: str, kind: str = items.CONSTRAINT) -> tuple[str, str]:
    """Verdict and reason for one item."""
    (finding,) = audit.audit(summary, ledger_of((kind, text)), "").findings
    return finding.verdict, finding.why


@pytest.mark.parametrize("measure", [likeness.best, likeness.own])
def test_no_labelled_opposite_or_changed_value_passes_for_kept(
    measure: Callable[[], likeness.Likeness],
) -> None:
    """On 347 labelled sentences: all that is called preserved is, and nearly all of it is found."""
    from benchmarks import audit as bench
    from benchmarks.audit_cases import HELD_OUT, TUNED

    for cases, least in ((TUNED, 0.95), (HELD_OUT, 0.9)):
        found = bench.quality(bench.judge(cases, measure()))

        assert found.precision == 1.0
        assert found.kept_precision == 1.0
        assert found.recall >= least


def test_a_library_that_knows_slips_of_the_finger_finds_more() -> None:
    """With a fifth of the words mistyped, rapidfuzz finds what common beginnings do not."""
    from benchmarks import audit as bench
    from benchmarks.audit_cases import TUNED

    library = bench.quality(bench.judge(TUNED, likeness.best(), mistyped=0.2))
    own = bench.quality(bench.judge(TUNED, likeness.own(), mistyped=0.2))

    assert library.recall > own.recall
    assert library.precision > 0.95


@pytest.mark.parametrize(
    ("summary", "text", "expected"),
    [
        ("- Never deploy on Fridays.", "Never deploy on Fridays.", "kept"),
        ("1. **never deploy on fridays**", "Never deploy on Fridays.", "kept"),
        ("No deployments on Fridays.", "Never deploy on Fridays.", "paraphrased"),
        ("Deploy on Fridays.", "Never deploy on Fridays.", "missing"),
        ("We deploy on Fridays, never on Mondays.", "Never deploy on Fridays.", "missing"),
        ("never deploy on Fridays", "deploy on Fridays", "missing"),
        ("Never deploy.\nDeploy on Fridays.", "Never deploy on Fridays.", "missing"),
        ("## Rejected\n- deploy on Fridays", "deploy on Fridays", "missing"),
        ("", "Never deploy on Fridays.", "missing"),
        ("<analysis>Never deploy on Fridays.</analysis>", "Never deploy on Fridays.", "missing"),
        ("<summary>Never deploy on Fridays.", "Never deploy on Fridays.", "kept"),
        ("only touch src/", "touch src/", "kept"),
        ("touch src/", "only touch src/", "missing"),
    ],
)
def test_a_rule_is_kept_only_in_its_own_direction(summary: str, text: str, expected: str) -> None:
    """Word for word, in other words, the opposite, inside a denial, in thoughts that go nowhere."""
    assert verdict_of(summary, text)[0] == expected


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ("Timeout of the order importer is 30 s.", "Timeout of the order importer is 60 s."),
        ("Edit src/app/core.py.orig next", "Edit src/app/core.py next"),
        ("Listen on port 80801 for health checks", "Listen on port 8080 for health checks"),
        ("Pin libfoo to 2.1.5 in the lock file", "Pin libfoo to 2.1 in the lock file"),
        ("Set MAX_RETRIES_TOTAL to 3 in settings", "Set MAX_RETRIES to 3 in settings"),
        ("use the --forced flag with the tool", "use the --force flag with the tool"),
    ],
)
def test_an_exact_value_must_be_there_literally(summary: str, text: str) -> None:
    """A longer name or another figure is not the one that was asked for."""
    assert verdict_of(summary, text) == ("missing", "values")


def test_a_path_may_lose_its_folders_but_not_become_another() -> None:
    """`src/a.py` for the whole path is a paraphrase, `lib/a.py` is not."""
    text = "Change /home/dev/project/src/cli/a.py to read from stdin"

    assert verdict_of("Change src/cli/a.py to read from stdin", text)[0] == "paraphrased"
    assert verdict_of("Change lib/cli/a.py to read from stdin", text) == ("missing", "values")


def test_an_open_task_that_is_told_as_done_counts_as_missing() -> None:
    """The model would not do it any more."""
    text = "Write the migration for the orders table"
    summary = "## Completed\n- Write the migration for the orders table"

    assert verdict_of(summary, text, items.TASK) == ("missing", "status")
    assert verdict_of(summary.replace("Completed", "Open"), text, items.TASK)[0] == "kept"


def test_an_item_of_several_sentences_is_kept_as_a_whole() -> None:
    """A sentence that rules something out may not be the one that is left out."""
    text = "The importer is slow. Look at the batches first. Never drop rows to speed it up."
    most = "The importer is slow. Look at the batches first."

    assert verdict_of(text, text)[0] == "kept"
    assert verdict_of(most, text)[0] == "missing"
    assert verdict_of(f"{most} Rows must never be dropped to speed it up.", text) == (
        "paraphrased",
        "",
    )


def test_only_what_is_open_and_belongs_into_a_summary_is_looked_for() -> None:
    """Closed items, prompts and files that were only read are not counted as lost."""
    ledger = ledger_of((items.TASK, "open task"), (items.PROMPT, "a prompt"))
    ledger.add(items.Item(items.TASK, "done task", items.USER, status=items.DONE))
    ledger.add(items.Item(items.FILE, "/a.py", items.TOOL, extra={"did": "read"}))
    ledger.add(items.Item(items.FILE, "/b.py", items.TOOL, extra={"did": "edited"}))

    found = audit.audit("", ledger, "")

    assert [finding.item.text for finding in found.findings] == ["open task", "/b.py"]


def test_what_neither_the_summary_nor_the_card_has_is_given_back() -> None:
    """The card restores, the rest goes into a text that begins as all of ours do."""
    ledger = ledger_of(
        (items.CONSTRAINT, "Never deploy on Fridays."),
        (items.DECISION, "Sessions live in signed cookies."),
        (items.TASK, "Write the migration"),
    )
    found = audit.audit("Never deploy on Fridays.", ledger, "- Write\nthe  migration")

    text = audit.remainder(found)

    assert [item.text for item in audit.missing_beyond_card(found)] == [
        "Sessions live in signed cookies."
    ]
    assert text.startswith("[brimline")
    assert "Sessions live in signed cookies." in text
    assert "Write the migration" not in text
    assert sorted(findings.restored_by(found).values()) == ["card", "remainder"]


def test_nothing_is_given_back_where_nothing_is_missing() -> None:
    """No empty frame."""
    ledger = ledger_of((items.CONSTRAINT, "Never deploy on Fridays."))

    assert audit.remainder(audit.audit("Never deploy on Fridays.", ledger, "")) == ""


def test_the_remainder_stays_within_its_budget() -> None:
    """Hundreds of lost items: the most important first, and it says that more were cut."""
    ledger = ledger_of(
        *[(items.DECISION, f"Use {number * 7919} for part {number}") for number in range(400)],
        (items.CONSTRAINT, "Never deploy on Fridays."),
    )

    text = audit.remainder(audit.audit("", ledger, ""))

    assert len(text) <= 9_000
    assert "Never deploy on Fridays." in text
    assert card.TRUNCATED in text


def test_a_long_rule_that_the_card_cut_is_not_restored() -> None:
    """The beginning is enough only for what can be fetched elsewhere."""
    rule = "Never touch " + ", ".join(f"the table number {number}" for number in range(60))
    report = "The agent found " + ", ".join(f"the thing number {number}" for number in range(60))
    ledger = ledger_of((items.CONSTRAINT, rule), (items.AGENT, report))

    found = audit.audit("", ledger, card.card(ledger))

    assert [finding.in_card for finding in found.findings] == [False, True]


@pytest.mark.row("S2-21")
def test_an_audit_is_kept_with_its_figures(home_dir: str) -> None:
    """Per item what became of it, and the counts that a timeline shows."""
    ledger = ledger_of(
        (items.CONSTRAINT, "Never deploy on Fridays."),
        (items.CONSTRAINT, "Ask before deleting the bucket eu-backups-7."),
        (items.TASK, "Write the migration 🚀"),
    )
    summary = "Never deploy on Fridays. Before the bucket eu-backups-7 is deleted, ask."
    found = audit.audit(summary, ledger, "- Write the migration 🚀")

    path = audit.save(home_dir, SESSION, 2, found, trigger="auto", pre_tokens=167_000)
    (kept,) = audit.load_all(home_dir, SESSION)

    assert path == f"{home_dir}/carry/{SESSION}/audit-2.json"
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert kept == audit.load(home_dir, SESSION, 2)
    assert [kept[name] for name in ("kept", "paraphrased", "missing", "restored")] == [1, 1, 1, 1]
    assert (kept["number"], kept["trigger"], kept["pre_tokens"], kept["post_tokens"]) == (
        2,
        "auto",
        167_000,
        None,
    )
    assert kept["summary_characters"] == len(summary)
    assert kept["measure"].startswith("rapidfuzz ")
    lost = kept["items"][2]
    assert lost["text"] == "Write the migration 🚀"
    assert (lost["verdict"], lost["in_card"], lost["restored"]) == ("missing", True, "card")


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[1]", b'{"v": 1}', b'{"v": 9}', b"\xff\xfe{", b"1"]
)
def test_a_damaged_audit_counts_as_none(home_dir: str, damage: bytes) -> None:
    """The others of the session are still there."""
    found = audit.audit("", ledger_of((items.TASK, "Write the migration")), "")
    for number in (1, 2, 10):
        audit.save(home_dir, SESSION, number, found)
    Path(home_dir, "carry", SESSION, "audit-2.json").write_bytes(damage)
    Path(home_dir, "carry", SESSION, "audit-x.json").write_bytes(b"{}")

    assert audit.load(home_dir, SESSION, 2) is None
    assert audit.load(home_dir, SESSION, 3) is None
    assert [one["number"] for one in audit.load_all(home_dir, SESSION)] == [1, 10]
    assert audit.load_all(home_dir, "unknown") == []


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ("\ud83d never deploy", "never deploy \ud83d"),
        ("word " * 60_000, "word " * 5_000),
        ("from a to b " * 4_000, "from b to a " * 400),
        ("(" * 40_000, "(" * 4_000 + "abc"),
        ("a\n" * 50_000, "a"),
        ("...", "..."),
        ("日本語の要約。", "日本語の規則。"),
    ],
)
def test_any_text_has_a_verdict(home_dir: str, summary: str, text: str) -> None:
    """Half an emoji, a dump without an end, brackets only: judged and kept all the same."""
    found = audit.audit(summary, ledger_of((items.CONSTRAINT, text)), "")

    audit.save(home_dir, SESSION, 1, found)

    assert found.findings[0].verdict in ("kept", "paraphrased", "missing")
    assert len(audit.load_all(home_dir, SESSION)) == 1


def test_an_isolated_process_uses_the_library_that_the_installer_noted(home_dir: str) -> None:
    """As a hook starts: without site-packages; without the note it falls back and says so."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from brimline.carry import audit, items\n"
        "ledger = items.Ledger('s'); ledger.add(items.Item('task', 'Write it down', 'user'))\n"
        "print(audit.audit('Write it down', ledger, '', home_dir=sys.argv[2]).measure)\n"
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(ROOT / "src"), home_dir]

    without = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    libraries.remember(home_dir)
    noted = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert without.strip() == likeness.OWN
    assert noted.startswith("rapidfuzz ")


def test_the_document_of_an_audit_is_plain_json() -> None:
    """Other programs may read it."""
    document = audit.to_document(audit.audit("", ledger_of((items.TASK, "Write it")), ""))

    assert json.loads(json.dumps(document)) == document
