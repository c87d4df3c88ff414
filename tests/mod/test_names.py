"""What the first client with mods demands of the module: one meaning for each name."""

from __future__ import annotations

import re

from brimline.mod import modsource


def declared_twice(source: str) -> list[str]:
    """The functions that are handed `$` and whose names mean something else elsewhere."""
    handed = re.findall(
        r"^(?:const|async function|function) (\w+)(?: = (?:async )?)?\(?\$", source, re.MULTILINE
    )
    places = r"(?:const|let|function) {0}\b|\b{0} =>|\([^()]*\b{0}\b[^()]*\) =>|const [^=;]*, {0} ="
    return [name for name in handed if len(re.findall(places.format(name), source)) != 1]


def test_a_function_that_is_handed_the_client_has_a_name_of_its_own() -> None:
    """Else 2.1.287 does not load the module, and every session goes on without it."""
    source = modsource.joined_mod_javascript_bytes().decode()

    assert "const answerCall = async ($" in source
    assert declared_twice(source) == []
    for words in ("answerCall =>", "($, answerCall) =>", "(answerCall, other) =>"):
        assert declared_twice(f"{source}\nconst made = {words} answerCall.x") == ["answerCall"]
