"""Makes foreign text fit to be kept: secrets are masked, control characters dropped. Pure."""

from __future__ import annotations

import re

MASK = "[masked]"
# A terminal would obey these; line ends and tabs stay.
_CONTROL = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)]) | {13: "\n"}
# Each is recognised by its own beginning: private keys, tokens of well-known services (Anthropic,
# OpenAI, Stripe, GitHub, GitLab, Slack, AWS, Google, npm, PyPI, Hugging Face, DigitalOcean,
# SendGrid), JSON web tokens.
# Nothing is looked for without a bound: a text of nothing but beginnings would take for ever.
_TOKENS = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----"
    r".*?(?:-----END [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----|\Z)"
    r"|\bsk-[A-Za-z0-9][\w-]{18,}"
    r"|\b[srp]k_(?:live|test)_\w{10,}"
    r"|\bwhsec_\w{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}"
    r"|\bgithub_pat_\w{20,}"
    r"|\bglpat-[\w-]{16,}"
    r"|\bxox[abeprs]-[\w-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[\w-]{30,}"
    r"|\bya29\.[\w-]{20,}"
    r"|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[\w-]{30,}"
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\bdop_v1_[0-9a-f]{32,}"
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}"
    r"|\bAGE-SECRET-KEY-\w{20,}"
    r"|\bhooks\.slack\.com/services/[\w/]+"
    r"|\b(?:xapp|xai|tskey|gsk|shpat|dckr_pat|lin_api|glsa|hvs|ATATT)[-_.]?[\w.-]{20,}"
    r"|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*",
    re.DOTALL,
)
_IN_ADDRESS = re.compile(r"(://[^\s/:@'\"]*):[^\s/@'\"]+@")
# A name that says so, then a value with a digit in it: "token: yes" is left alone.
_NAMED = re.compile(
    r"((?:passw(?:or)?d|passphrase|secret\w{0,40}|token|api[_-]?key|access[_-]?key|account[_-]?key"
    r"|private[_-]?key)['\"]?\s*[:=]\s*['\"]?)(?=[^\s'\",;]{0,200}\d)[^\s'\",;]{8,}",
    re.IGNORECASE,
)
# Variables and options of commands: whatever their value looks like.
_GIVEN = re.compile(
    r"(\b[A-Z0-9_]{0,80}(?:PASSWORD|PASSWD|SECRET|TOKEN(?!S)|API_KEY)[A-Z0-9_]{0,80}="
    r"|--(?:password|passwd|token|secret|api-key)[= ])(?:'[^']*'|\"[^\"]*\"|[^\s'\";|&]{4,})"
)
_LOGIN = re.compile(r"(\s-u\s+[\w.@-]+:)[^\s'\"]{3,}")
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9+/._~-]{16,}=*")
# Where none of these occurs there is nothing to mask; most texts are done here.
_HINTS = (
    *("sk-", "k_live_", "k_test_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "xox", "akia", "asia", "aiza", "ya29.", "npm_", "pypi-", "hf_", "dop_v1_", "sg."),
    *("eyj", "private key", "://", "passw", "passphrase", "secret", "token", "key", "bearer"),
    *("basic ", "-u ", "xapp", "xai-", "tskey", "gsk_", "shpat", "dckr_pat", "lin_api", "glsa"),
    *("hvs.", "atatt"),
)


def mask(text: str) -> str:
    """The text without control characters, every secret of a common shape replaced by a mark."""
    if not text.isprintable():
        text = text.translate(_CONTROL)
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    text = _TOKENS.sub(MASK, text)
    text = _IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    text = _BEARER.sub(rf"\1 {MASK}", text)
    text = _LOGIN.sub(rf"\1{MASK}", _GIVEN.sub(rf"\1{MASK}", text))
    return _NAMED.sub(rf"\1{MASK}", text)
