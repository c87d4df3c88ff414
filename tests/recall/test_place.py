"""Where a team's memory is: what an address says, and which cannot be."""

from __future__ import annotations

import pytest

from brimline.errors import TeamError
from brimline.recall import place


@pytest.mark.parametrize(
    ("host", "node"),
    [
        ("a.example", "https://a.example:6333"),
        ("a.example:1", "https://a.example:1"),
        ("a.example:65535", "https://a.example:65535"),
        ("10.0.0.255", "https://10.0.0.255:6333"),
        ("[::1]:80", "https://[::1]:80"),
        ("a" * 63, f"https://{'a' * 63}:6333"),
    ],
)
def test_a_node_has_a_name_or_an_address_and_a_port(host: str, node: str) -> None:
    """6333 where none is given."""
    assert place.parse_place(f"qdrant+https://mia@{host}/team").host == node


@pytest.mark.parametrize(
    "host",
    ["a.example,b.example", "a.example:0", "a.example:65536", "[::g]", "a..b", "a b", "a:b:1"],
)
def test_what_can_be_no_node_is_refused(host: str) -> None:
    """In one sentence that says the form."""
    with pytest.raises(TeamError, match="has another form than"):
        place.parse_place(f"qdrant+https://mia@{host}/team")


def test_an_address_says_author_collection_and_whom_to_trust() -> None:
    """A name for people without the scheme."""
    plain = place.parse_place("qdrant+http://a.example/team")
    full = place.parse_place("qdrant+http://mi%20a@a.example:7/te-am?authority=/a%20b.pem")

    assert (plain.author, plain.authority) == ("", "")
    assert (full.author, full.collection, full.authority) == ("mi a", "te-am", "/a b.pem")
    assert (plain.host, full.host) == ("http://a.example:6333", "http://a.example:7")
    assert full.name == "a.example:7/te-am"
    with pytest.raises(TeamError, match="holds a key"):
        place.parse_place("qdrant+https://mia:secret@a.example/team")
