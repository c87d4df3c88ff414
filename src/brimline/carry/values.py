"""Exact values in a text: paths, figures, versions, hashes, names; how specific it is. Pure."""

from __future__ import annotations

from brimline.carry.words import word_set

_EDGES = "\"'`*_()[]{}<>,;:!?“”„«»‘’"
_UNITS = word_set(
    "ms s sec secs second seconds min mins minute minutes h hour hours day days week weeks"
    " month months year years b kb mb gb tb kib mib gib tib bytes byte bits px em rem pt rows"
    " row lines line files file users user tenants tenant requests request req req/s rps qps"
    " tps ops ops/s connections connection workers worker threads thread retries retry"
    " attempts times percent % eur usd euro euros dollar dollars cents chf gbp k m bn million"
    " tokens token records record items item entries messages events jobs nodes node replicas"
    " shards partitions pods cores cpus tests test commits characters chars keys tables"
    " columns degrees points mbit gbit hz khz mhz ghz customers accounts orders iterations"
    " epochs samples batches seats licences licenses shops invoices hosts servers machines vms"
    " queries pages steps parts copies"
)
_NUMBER_NAMES = word_set(
    "port pid id issue ticket pr line lines limit timeout threshold version build size max"
    " min maximum minimum ttl retries count batch offset account customer row exit code status"
    " error ratio rate budget cap quota seed rfc room ext extension uid gid page"
)
_SHOUTED = word_set(
    "NOT NEVER ALWAYS MUST ONLY DO DONT DON'T NO YES ALL AND OR BUT PLEASE STOP IMPORTANT"
    " NOTE TODO FIXME WARNING OK FYI ASAP IMO BTW WIP ETA TBD THE THIS IS ARE CRITICAL"
    " ENFORCED AGAIN BEFORE AFTER SO IF I A"
)
_EXTENSION_LETTERS = 5
_HASH_DIGITS = 7
_MOST = 4.0


def specificity(text: str) -> float:
    """How much of a text is exact, from 0 to 4: one clear path or figure is about 1."""
    total = 0.0
    words = text.split()
    for at, word in enumerate(words):
        if word.isalpha() and word.islower():
            continue
        total += _worth(word, at, words)
        if total >= _MOST:
            return _MOST
    return total


def _worth(word: str, at: int, words: list[str]) -> float:
    bare = word.strip(_EDGES).rstrip(".")
    quoted = 0.3 if word[:1] in '`"“' else 0.0
    if not bare:
        return 0.0
    if any(map(str.isdigit, bare)):
        return quoted + _worth_of_digits(bare, at, words)
    if "/" in bare:
        return quoted + _worth_of_slashes(bare)
    if bare.startswith("--"):
        return 0.6
    if "_" in bare:
        return quoted + (1.0 if bare.isupper() else 0.8)
    return quoted + _worth_of_letters(bare, word, at, words)


def _worth_of_digits(bare: str, at: int, words: list[str]) -> float:
    digits = sum(map(str.isdigit, bare))
    if "/" in bare or "_" in bare or "://" in bare:
        return 1.1
    if digits == len(bare):
        return _worth_of_number(bare, at, words)
    if len(bare) >= _HASH_DIGITS and all(c in "0123456789abcdefABCDEF-" for c in bare):
        return 1.2
    if "." in bare or ":" in bare:
        return 1.0
    if bare.lstrip("~<>=≤≥±+-$€£#").replace(",", "").rstrip("%kKMGBmsh").isdigit():
        return 1.0 if digits > 1 or bare[-1:] in "%smhBk" or bare[0] in "$€£" else 0.6
    return 0.8 if digits > 1 else 0.5


def _worth_of_number(bare: str, at: int, words: list[str]) -> float:
    after = words[at + 1].strip(_EDGES).rstrip(".").lower() if at + 1 < len(words) else ""
    before = words[at - 1].strip(_EDGES).lower() if at else ""
    if after in _UNITS or before in _NUMBER_NAMES:
        return 1.0
    # A list's own numbers, "option 2", "step 3".
    return 0.15 if len(bare) == 1 else 0.7


def _worth_of_slashes(bare: str) -> float:
    if bare.startswith(("/", "~/", "./", "../")) and len(bare) > len("../"):
        return 1.1 if bare.count("/") > 1 or "." in bare else 0.6
    parts = [part for part in bare.split("/") if part]
    if bare.endswith("/") or len(parts) > len("ab") or any("." in part for part in parts):
        return 1.0
    return 0.3 if len(parts) > 1 else 0.0


def _worth_of_letters(bare: str, word: str, at: int, words: list[str]) -> float:
    stem, dot, extension = bare.rpartition(".")
    if dot and stem and extension.isalpha() and len(extension) <= _EXTENSION_LETTERS:
        return 0.9
    if dot and stem:
        return 0.6
    if bare.isupper() and len(bare) > 1:
        return 0.0 if bare in _SHOUTED else 0.35
    if not bare.islower() and not bare.istitle() and bare[1:] != bare[1:].lower():
        return 0.6  # camelCase
    if word.startswith("`"):
        return 0.3
    if bare.count("-") > 1:
        return 0.4
    if bare[:1].isupper() and at and not words[at - 1].endswith((".", "!", "?", ":")):
        return 0.0 if bare == "I" or bare.startswith("I'") else 0.25
    return 0.0
