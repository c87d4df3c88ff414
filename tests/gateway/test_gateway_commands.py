"""`brimline gateway` and `brimline run`: what they take, and what they refuse."""

from __future__ import annotations

import json
import os
import re

import click
import pytest
from click.testing import CliRunner

from brimline.cli.surface import program
from brimline.compaction.layers import LAYERS
from brimline.errors import BrimlineError
from brimline.gateway import gateway_commands, serving


def test_layers_are_a_list_of_their_numbers_or_off() -> None:
    """What is no layer is told with those that there are."""
    numbers = sorted(str(layer.number) for layer in LAYERS)

    assert gateway_commands._parse_layers(None, None, "off") == ()
    assert {one.number for one in gateway_commands._parse_layers(None, None, " 2,1 ")} == {1, 2}
    with pytest.raises(click.BadParameter, match=f"a list out of {', '.join(numbers)}, or off"):
        gateway_commands._parse_layers(None, None, "1,9")


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
    ("command", "option", "least", "most", "usual"),
    [
        (gateway_commands.gateway, "port", 0, 65_535, 0),
        (gateway_commands.run, "compact_pct", 1, 100, None),
    ],
)
def test_numbers_have_their_limits(
    command: click.Command, option: str, least: int, most: int, usual: int | None
) -> None:
    """Both are allowed, and what is beyond them is refused."""
    (found,) = [one for one in command.params if one.name == option]

    assert isinstance(found.type, click.IntRange)
    assert (found.type.min, found.type.max) == (least, most)
    context = click.Context(command)
    for number in (least, most):
        assert found.type_cast_value(context, str(number)) == number
    for number in (least - 1, most + 1):
        with pytest.raises(click.BadParameter):
            found.type_cast_value(context, str(number))
    default = found.get_default(context)
    assert (default if isinstance(default, int) else None) == usual


def test_the_first_line_is_the_address_and_the_second_what_to_do_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To a program it is a document; who started it by a socket of his own needs no second line."""
    monkeypatch.setenv("BRIMLINE_GATEWAY_PATH", "from-the-environment")
    monkeypatch.setattr(serving, "serve", lambda _plan, _listening, ready: ready())
    told = CliRunner().invoke(program, ["gateway", "--path", "own"]).stdout.splitlines()
    document = json.loads(CliRunner().invoke(program, ["gateway", "--json"]).stdout)
    with serving.listen(0) as listening:
        inherited = ["--inherited", str(os.dup(listening.fileno())), "0"]
        by_socket = CliRunner().invoke(program, ["gateway", "--path", "own", *inherited]).stdout
        port = listening.getsockname()[1]

    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/own", told[0])
    assert told[1].startswith("A gateway to the service, for `ANTHROPIC_BASE_URL=<this address>")
    assert document["base_url"].endswith("/from-the-environment")
    assert "BRIMLINE_GATEWAY_PATH" not in os.environ
    assert by_socket == f"http://127.0.0.1:{port}/own\n"


@pytest.mark.parametrize(
    ("words", "env", "service"),
    [
        ([], None, "https://api.anthropic.com"),
        ([], "https://own.example", "https://own.example"),
        (["--upstream", "https://told.example"], "https://own.example", "https://told.example"),
    ],
)
def test_the_service_is_the_one_that_is_named_else_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, words: list[str], env: str | None, service: str
) -> None:
    """Else the usual one; all layers but the model's apply unless told otherwise."""
    monkeypatch.delenv(serving.BASE_URL, raising=False)
    if env:
        monkeypatch.setenv(serving.BASE_URL, env)
    plans: list[serving.Plan] = []
    monkeypatch.setattr(serving, "serve", lambda plan, *_: plans.append(plan))

    done = CliRunner().invoke(program, ["gateway", *words])

    assert done.exit_code == 0, done.output
    (plan,) = plans
    assert (plan.upstream, plan.lifeline) == (service, None)
    assert {layer.number for layer in plan.layers} == {1, 2, 4, 5}
    assert len(plan.secret) == 24


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
