"""The files of slash commands: what the model gets, and which files are ours."""

from __future__ import annotations

import pytest

from brimline.hooks import slashcommands


def made() -> dict[str, bytes]:
    """All files, the card's with a command line."""
    return slashcommands.markdown_files(lambda *words: " ".join(["/bin/hook", *words]))


def test_a_file_says_what_to_do_in_a_shell() -> None:
    """With the session where the command is about one, and nothing where there is no such one."""
    texts = {name: raw.decode() for name, raw in made().items()}

    assert "`brimline status --session ${CLAUDE_SESSION_ID}`" in texts["status.md"]
    assert "In a shell: `brimline history`." in texts["history.md"]
    assert "argument-hint: '[--compactions]'\n" in texts["history.md"]
    assert "argument-hint" not in texts["status.md"]
    assert "description: 'How full this session''s context window is'\n" in texts["status.md"]
    assert "In a shell" not in texts["off.md"]
    assert all("\ndisable-model-invocation: true\n---\n" in text for text in texts.values())
    about = [name for name, text in texts.items() if "--session $" in text]
    assert sorted(about) == ["checkpoint.md", "purge.md", "status.md"]


def test_beside_the_mod_only_the_card_has_a_file() -> None:
    """The mod answers the others, by names of its own."""
    files = slashcommands.markdown_files(lambda *_: "/bin/hook", has_mod=True)

    assert list(files) == ["card.md"]


def test_the_card_runs_its_command_and_is_left_out_without_one() -> None:
    """The client checks the line before it runs it."""
    card = made()["card.md"].decode()

    assert "allowed-tools: 'Bash(/bin/hook carry card)'\n" in card
    assert "\n!`/bin/hook carry card`\n" in card
    assert set(made()) == set(slashcommands.NAMES)
    assert set(made()) - set(slashcommands.markdown_files(lambda *_: None)) == {"card.md"}


@pytest.mark.parametrize("name", slashcommands.NAMES)
def test_a_file_is_ours_until_somebody_changes_it(name: str) -> None:
    """Its head has a digest of all else, once; one without it is somebody's own."""
    raw = made()[name]
    head, _, rest = raw.partition(b"\n")
    signature, _, text = rest.partition(b"\n")

    assert head == b"---"
    assert signature.startswith(b"brimline: ")
    assert len(signature) == len("brimline: ") + 16
    assert raw.count(b"brimline: ") == 1
    assert slashcommands.is_unchanged_file_of_ours(raw)
    assert not slashcommands.is_unchanged_file_of_ours(raw + b"mine\n")
    assert not slashcommands.is_unchanged_file_of_ours(raw.replace(b"description", b"Description"))
    assert not slashcommands.is_unchanged_file_of_ours(head + b"\n" + text)
    assert not slashcommands.is_unchanged_file_of_ours(b"---\ndescription: mine\n---\nDo it.\n")
