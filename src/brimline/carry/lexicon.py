"""The words by which the audit tells rules from permissions, and words that tell nothing. Pure."""

from __future__ import annotations

import re

from brimline.carry import words

_NOUN = "ment"
_SHORTEST_NOUN = 8


_NOT = re.compile(r"\b(\w+)n't\b")
_NO_WORD = re.compile(r"[\W_]+")
# `won't` and `can't` lose a letter to the pattern above; people leave the apostrophe out.
_SPELLED_OUT = {
    "ca": "can",
    "wo": "will",
    "sha": "shall",
    "cannot": "can not",
    "cant": "can not",
    "wont": "will not",
    "pls": "please",
    "plz": "please",
    "ok": "okay",
}
_VERBS = "do does did is are was were has have had must should would could need"
_SPELLED_OUT |= {f"{verb}nt": f"{verb} not" for verb in _VERBS.split()}


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Phrases that look like a negation and are none, or hide one; replaced before clauses are cut.
PHRASES = tuple(
    (re.compile(rf"(?<= )(?:{pattern})(?= )"), replacement)
    for pattern, replacement in (
        (r"(?:under|in) no circumstances?|by no means|on no account", "never"),
        (r"(?:under|in) any circumstances?|at all|whatsoever|ever|please|by any means", ""),
        (r"(?:do not|never) (?:forget|hesitate|fail)(?: to)?", ""),
        (r"without (?:a |any )?(?:problem|issue|trouble)s?|no (?:problem|issue|worries)", ""),
        (r"not only", "both"),
        (r"not even(?: in| on| for)?", "also"),
        (r"(?:no|not) (?:more|longer|later|fewer|less|greater|over|above) than", "atmost"),
        (r"not (?:take|be|last|run|exceed) (?:more|longer|later) than", "atmost"),
        (r"not (?:have|need) to", "not"),
        (r"(?:there is )?no (?:need|reason|point) (?:to|in|for)", "not"),
        (r"no longer|not any ?more|not yet", "not"),
        (r"(?:is|are|was|were|be) (?:it )?(?:fine|okay|allowed|permitted|free) (?:to|for)", "may"),
        (r"(?:not|never) (?:be )?(?:allow|permit|want)(?:s|ed|ted)?(?: to| any| a)?", "forbidden"),
        (r"(?:not|never) (?:be )?(?:acceptable|okay)", "forbidden"),
        (r"off (?:the table|limits)|out of (?:bounds|the question|scope)|a no go", "forbidden"),
        (r"(?:decided?|decides|deciding|opted|advised|chose) against", "forbidden"),
        (r"rul(?:ed|es|e|ing) out|(?:turned|voted) down", "forbidden"),
        (r"(?:leave|left|leaves|leaving)(?= (?:\S+ ){1,4}alone )", "forbidden change"),
        (r"(?:to )?be left alone", "forbidden change"),
        (r"(?:keep|stay|steer) (?:away|out|clear) (?:from|of)|hands? off", "forbidden"),
        (r"refrain from|hold off(?: on)?", "forbidden"),
        (r"instead of|rather than|as opposed to|in place of|(?:and|but) not|and no", "insteadof"),
        (r"nothing but|(?:no other|nothing else) than|none but|exclusively|solely", "only"),
    )
)
NEGATORS = _set(
    "not no never none nor neither nothing nobody nowhere cannot nope without insteadof"
    " avoid avoids avoided avoiding forbid forbids forbidden forbidding prohibit prohibits"
    " prohibited prohibiting disallow disallows disallowed ban bans banned refuse refused refuses"
    " reject rejects rejected rejecting discard discarded discards abandon abandoned declined"
    " dismissed exclude excludes excluded stop skip skipped"
)
# After one of these, `not` belongs to the verb; after anything else it opens a contrast.
AUXILIARIES = _set(
    "do does did is are was were be been being must should shall will would can could may might"
    " need needs has have had to let us and or but so that which who you we they it i please still"
    " ought dare"
)
CONTRASTS = _set("but insteadof instead although though however whereas while yet except")
CONTRASTED = _set("over insteadof")
PREPOSITIONS = _set("in for on at with")
SUBORDINATES = _set(
    "until unless before without if when whenever once after because since as so which"
)
HOLDS_BACK = _set("until unless before without")
LETS_GO = _set("once after when if until")
PREFERS = _set(
    "chose choose chosen choosing pick picked picking prefer prefers preferred select selected"
    " went favour favor favoured favored"
)
ONLY = _set("only just")
AT_MOST = _set("atmost most maximum max within limit limited cap capped below ceiling exceed")

FUNCTION_WORDS = NEGATORS | _set(
    "a an the this that these those and or but if then than so as of in on at to from by for with"
    " into onto about over under up down out off is are was were be been being am do does did has"
    " have had having will would shall should can could may might must ought need needs only just"
    " also too very really quite even still yet already again now here there it its i me my we us"
    " our you your he him his she her they them their who whom which what when where why how all"
    " any some each every both either such other another more most much many few less least own"
    " same please always ever instead rather atmost because since until unless before after while"
    " once within between through during against per via user assistant s t anything something"
    " whatever anybody everybody"
)
# Words that people and models put for each other.
SAME = {
    words.stem(word): words.stem(group.split()[0])
    for group in (
        "change touch modify edit alter amend",
        "delete remove drop erase",
        "begin start commence",
        "finish complete end",
        "fix mend repair resolve",
        "save store persist",
        "show display",
        "choose pick select",
        "folder directory",
        "database db",
        "repository repo",
        "configuration config",
        "environment env",
    )
    for word in group.split()
}


def plain(text: str) -> str:
    """The words of a text in lower case with a blank around each; contractions are spelled out.

    Also those of paths and code, other than where rules are recognised: here they are compared.
    """
    bare = _NOT.sub(r"\1 not", text.lower().replace("’", "'").replace("w/o", "without"))
    found = _NO_WORD.sub(" ", bare).split()
    return f" {' '.join([_SPELLED_OUT.get(word, word) for word in found])} "


def root(word: str) -> str:
    """What a word is compared by: its stem, or that of the word it is put for."""
    stem = words.stem(word)
    if stem.endswith(_NOUN) and len(stem) >= _SHORTEST_NOUN:
        stem = words.stem(stem.removesuffix(_NOUN))  # `deployment` and `deploy`
    return SAME.get(stem, stem)


# Verbs and labels that any sentence may have; they say little about what it is about.
COMMON = frozenset(
    root(word)
    for word in _set(
        "use using used make made keep kept add added set run running want wants go going get put"
        " let take give say said says tell told ask asked know see look like think thing things way"
        " new work works done open pending next task todo decision decided decide chose chosen"
        " choose change changed stay stays leave left live lives mean goal note fact error allow"
        " allowed allows begin starting"
    )
)
_OPPOSED = (
    "enable/disable allow/deny accept/refuse include/exclude increase/decrease add/remove"
    " keep/remove archive/delete start/stop upgrade/downgrade above/below public/private true/false"
    " min/max minimum/maximum synchronous/asynchronous internal/external optional/mandatory"
    " lock/unlock install/uninstall mount/unmount encrypt/decrypt succeed/fail"
)


def opposites(word: str) -> frozenset[str]:
    """The roots that say the contrary of a root."""
    return _OPPOSITES.get(word, frozenset())


def _paired() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for pair in _OPPOSED.split():
        one, other = map(root, pair.split("/"))
        found[one] = found.get(one, frozenset()) | {other}
        found[other] = found.get(other, frozenset()) | {one}
    return found


_OPPOSITES = _paired()
