"""A broken brimline leaves tools, prompts and compactions unharmed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from .stub_api import bash, filled, text, too_long

if TYPE_CHECKING:
    from collections.abc import Callable

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi


def remove_package(installed: Installed) -> None:
    """The package is gone; the settings still name it."""
    shutil.rmtree(installed.root)


def half_upgrade(installed: Installed) -> None:
    """An upgrade was interrupted: a module is cut in the middle."""
    module = installed.root / "brimline" / "hooks" / "turn.py"
    source = module.read_bytes()
    module.write_bytes(source[: len(source) // 2] + b"\n(((")


def remove_interpreter(installed: Installed) -> None:
    """The interpreter that the launcher names is gone."""
    launcher = installed.data / "bin" / "hook"
    _, _, code = launcher.read_text(encoding="utf-8").partition("\n")
    launcher.write_text(f"#!{installed.client.home}/gone/python3 -IS\n{code}", encoding="utf-8")


def remove_launcher(installed: Installed) -> None:
    """The program that the settings name is gone."""
    (installed.data / "bin" / "hook").unlink()


def cut_launcher(installed: Installed) -> None:
    """Half of the launcher is there."""
    launcher = installed.data / "bin" / "hook"
    launcher.write_bytes(launcher.read_bytes()[:-20])


def make_data_unwritable(installed: Installed) -> None:
    """Plain files stand where its folders should be (root ignores permission bits)."""
    for name in ("sessions", "carry", "store", "policy", "search"):
        shutil.rmtree(installed.data / name, ignore_errors=True)
        (installed.data / name).write_text("not a folder", encoding="utf-8")
    (installed.data / "errors.jsonl").mkdir()


FAULTS = [
    *(remove_package, half_upgrade, remove_interpreter, remove_launcher, cut_launcher),
    make_data_unwritable,
]


@pytest.mark.row("S0-25")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_session_with_tools_and_a_compaction_goes_on(
    client: Client, stub: StubApi, installed: Installed, fault: Callable[[Installed], None]
) -> None:
    """Prompt, tools, API-error compaction and the rest of the session all work."""
    fault(installed)
    stub.script(
        bash("echo one-1", filled(120_000)),
        bash("echo two-2", filled(160_000)),
        too_long(210_000, 200_000),
        bash("echo three-3", filled(40_000)),
        text("ALL-DONE", filled(41_000)),
    )

    run = client.run_print("go")

    assert run.rc == 0, run.stderr
    assert run.result is not None
    assert run.result["result"] == "ALL-DONE"
    assert [r.kind for r in run.requests].count("compaction") == 1
    results = [str(block["content"]) for r in run.requests for block in r.blocks("tool_result")]
    assert any("two-2" in result for result in results)
    assert any("three-3" in result for result in results)
    assert not any(block.get("is_error") for block in run.requests[-1].blocks("tool_result"))
    seen = "".join(request.seen_text() for request in run.requests)
    if fault is make_data_unwritable:
        # What needs no file is given all the same: the user's words after the compaction.
        seen = seen.replace("[brimline card]", "").replace("brimline carry", "")
        assert "The checkpoint could not be saved" in seen
        assert "[brimline" not in seen
    else:
        assert "brimline" not in seen


def test_a_threshold_compaction_goes_on_with_the_package_gone(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The compaction that the client starts by itself is not held up either."""
    remove_package(installed)
    stub.script(
        bash("echo 1", filled(50_000)),
        bash("echo 2", filled(60_000)),
        bash("echo 3", filled(190_000)),
        text("ALL-DONE", filled(41_000)),
    )

    run = client.run_print("go", env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"})

    assert run.result is not None
    assert run.result["result"] == "ALL-DONE"
    assert [r.kind for r in run.requests].count("compaction") == 1
