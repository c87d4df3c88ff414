"""`brimline gateway` and `brimline run`: what they take, and what they refuse."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from brimline.cli.surface import program
from brimline.errors import BrimlineError
from brimline.gateway import gateway_commands, serving


def test_a_secret_is_made_where_none_is_given() -> None:
    """Of 24 characters that fit a path; a given one has such characters only."""
    made = {gateway_commands._checked_or_fresh_secret(None) for _ in range(3)}

    assert len(made) == 3
    assert {len(secret) for secret in made} == {24}
    assert gateway_commands._checked_or_fresh_secret("aZ9-_.~") == "aZ9-_.~"
    for wrong in ("a/b", "ü", "a b", "٣"):
        with pytest.raises(BrimlineError, match="--path takes letters, digits and"):
            gateway_commands._checked_or_fresh_secret(wrong)


@pytest.mark.parametrize(
    ("words", "source"), [(["--upstream", "nowhere"], "--upstream"), ([], serving.BASE_URL)]
)
def test_what_is_no_service_is_told_and_nothing_is_listened_on(
    monkeypatch: pytest.MonkeyPatch, words: list[str], source: str
) -> None:
    """By the name of what says it."""
    monkeypatch.setenv(serving.BASE_URL, "nowhere")

    done = CliRunner().invoke(program, ["gateway", *words])

    assert str(done.exception) == f"{source} is 'nowhere', which is not a URL of a service"
