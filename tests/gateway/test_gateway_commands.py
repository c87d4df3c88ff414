"""`brimline gateway` and `brimline run`: what they take, and what they refuse."""

from __future__ import annotations

import click
import pytest

from brimline.compaction.layers import LAYERS
from brimline.errors import BrimlineError
from brimline.gateway import gateway_commands


def test_layers_are_a_list_of_their_numbers_or_off() -> None:
    """What is no layer is told with those that there are."""
    numbers = sorted(str(layer.number) for layer in LAYERS)

    assert gateway_commands._to_layers(None, None, "off") == ()
    assert {one.number for one in gateway_commands._to_layers(None, None, " 2,1 ")} == {1, 2}
    with pytest.raises(click.BadParameter, match=f"a list out of {', '.join(numbers)}, or off"):
        gateway_commands._to_layers(None, None, "1,9")


def test_a_secret_is_made_where_none_is_given() -> None:
    """Of 24 characters that fit a path; a given one has such characters only."""
    made = {gateway_commands._check_or_make_secret(None) for _ in range(3)}

    assert len(made) == 3
    assert {len(secret) for secret in made} == {24}
    assert gateway_commands._check_or_make_secret("aZ9-_.~") == "aZ9-_.~"
    for wrong in ("a/b", "ü", "a b", "٣"):
        with pytest.raises(BrimlineError, match="--path takes letters, digits and"):
            gateway_commands._check_or_make_secret(wrong)
