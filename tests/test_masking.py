"""Secrets of common shapes are masked, control characters dropped, other text is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.masking import MASK, mask

# Made up here, in parts, so that no scanner takes this file for a leak.
SECRETS = [
    "sk-ant-" + "api03-abcdefghijklmnopqrstuvwxyz0123",
    "sk-" + "proj-abcdefghijklmnopqrst",
    "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop",
    "glpat-" + "abcdefghij1234567890",
    "xoxb-" + "123456789012-abcdefghijkl",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "sk_live_" + "abcdefghijklmnop",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\ncut off",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----",
    "AGE-SECRET-KEY-" + "1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "hvs." + "CAESIJabcdefghijklmnop",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_masked_wherever_it_stands(secret: str) -> None:
    """In a sentence, in quotes, in a command."""
    for text in (f"use {secret}", f'KEY="{secret}" make', f"curl -H 'X: {secret}' a.b"):
        masked = mask(text)
        assert secret not in masked
        assert MASK in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "git clone https://me:hunter2@git.example/x",
            f"git clone https://me:{MASK}@git.example/x",
        ),
        ("DB_PASSWORD=hunter2hunter2 make", f"DB_PASSWORD={MASK} make"),
        ('"api_key": "abc123def456"', f'"api_key": "{MASK}"'),
        ("PASSWORD=hunter2 make", f"PASSWORD={MASK} make"),
        ("mysql --password hunter2 db", f"mysql --password {MASK} db"),
        ("curl -u me:hunter2 a.b", f"curl -u me:{MASK} a.b"),
        ("SECRET_KEY_BASE=abcdefabcdef", f"SECRET_KEY_BASE={MASK}"),
        ("Authorization: Bearer abcdef0123456789abcdef", f"Authorization: Bearer {MASK}"),
    ],
)
def test_a_value_that_is_named_a_secret_is_masked(text: str, masked: str) -> None:
    """The name stays, so that one knows what it was."""
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "the token: yes, rename it",
        "max_tokens: 200000 is fine",
        "MAX_TOKENS=200000 make",
        "password = config.get('x')",
        "see https://example.com:8443/path@v2",
        "commit 1c77b2cf, key takeaways: none",
        "the sk-learn package",
        "커밋 키: 없음 🔑",
    ],
)
def test_words_about_secrets_are_left_alone(text: str) -> None:
    """A message of the user is kept word for word."""
    assert mask(text) == text


def test_terminals_are_not_told_anything() -> None:
    """Escape sequences lose what makes them one; emoji and their joiners stay."""
    assert mask("a\x1b[31mred\x07\x9b2J\nb\tc 👩🏽‍💻") == "a[31mred2J\nb\tc 👩🏽‍💻"


@given(st.text())
def test_any_text_can_be_cleaned_once_and_for_all(text: str) -> None:
    """Cleaning again changes nothing."""
    assert mask(mask(text)) == mask(text)


def test_of_all_controls_only_tabs_and_line_ends_are_left() -> None:
    """A return is the end of a line; the letters beside the controls stay."""
    controls = [*range(32), *range(127, 160)]
    kept = {code: mask(f"a{chr(code)}b")[1:-1] for code in range(256)}

    assert {code: kept[code] for code in controls if kept[code]} == {9: "\t", 10: "\n", 13: "\n"}
    assert all(kept[code] == chr(code) for code in range(256) if code not in controls)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("unit", ["token=", "secret", "TOKEN", "eyJ-", "PRIVATE KEY"])
def test_a_text_of_nothing_but_beginnings_is_read_at_once(unit: str) -> None:
    """Whoever writes it must not hold up a hook: twice the text takes twice the time."""
    text = f"-----BEGIN {unit * (300_000 // len(unit))}"

    assert mask(text) == text
