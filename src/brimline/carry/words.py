"""Texts reduced to what can be compared: plain words, content words, how well two match. Pure.

Plain strings instead of patterns: compiling those would cost a hook more than its whole work.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for lists of them that are read rather than edited."""
    return frozenset(text.split())


_PUNCTUATION = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~“”„«»‹›…–—·•→←⇒✅✓✔☑❌\u00a0'
_TO_SPACE = str.maketrans(dict.fromkeys(_PUNCTUATION, " ") | {"’": "'", "‘": "'", "´": "'"})
# Contractions, also as people type them in a hurry.
_CONTRACTIONS = (
    "= dont=do_not don't=do_not doesnt=does_not doesn't=does_not didnt=did_not didn't=did_not"
    " cant=can_not can't=can_not cannot=can_not wont=will_not won't=will_not"
    " shouldnt=should_not shouldn't=should_not mustnt=must_not mustn't=must_not isnt=is_not"
    " isn't=is_not arent=are_not aren't=are_not wasnt=was_not wasn't=was_not werent=were_not"
    " weren't=were_not hasnt=has_not hasn't=has_not havent=have_not haven't=have_not"
    " wouldnt=would_not wouldn't=would_not couldnt=could_not couldn't=could_not"
    " neednt=need_not needn't=need_not i'll=i_will we'll=we_will you'll=you_will it'll=it_will"
    " they'll=they_will that'll=that_will i'm=i_am im=i_am you're=you_are youre=you_are"
    " we're=we_are they're=they_are i've=i_have ive=i_have we've=we_have weve=we_have"
    " you've=you_have youve=you_have they've=they_have i'd=i_would we'd=we_would"
    " you'd=you_would it's=it_is that's=that_is thats=that_is what's=what_is whats=what_is"
    " there's=there_is theres=there_is here's=here_is let's=lets pls=please plz=please u=you"
    " ur=your ok=okay k=okay gonna=going_to wanna=want_to gotta=have_to alot=a_lot"
    " lemme=let_me todos=todo"
)
_SPELLED_OUT = {
    short: spelled.replace("_", " ")
    for short, _, spelled in (pair.partition("=") for pair in _CONTRACTIONS.split())
}
_STOP_WORDS = word_set(
    "a about actually after again all also am an and any anymore anyway are as at back be"
    " because been before being both but by can could did do does doing done each else even"
    " ever every few finally first for from further get gets getting give go goes going gone"
    " good got had has have having he her here his how i if in instead into is it its itself"
    " just keep know later let lets like ll longer make makes making may maybe me mind might"
    " mine more most much must my need needed needs neither never new next no nor not nothing"
    " now of off oh okay on once one only onto or other our ours out over own per perhaps"
    " please point possible probably quite rather re really right same see shall she should"
    " since so some something soon sorry still stuff such sure take than thanks that the their"
    " them then there these they thing things think this those though through till to too"
    " under until up upon us use used using very via want wants was way we well were what when"
    " where whether which while who whole whom why will with within without would yes yet you"
    " your yours"
)
_QUOTE = "'"
# Stands where a clause begins, after the words with which people open it.
MARK = "¦"
# Stands where the sentence begins.
START = "§"
_OPENINGS = word_set(
    "please just and but so then okay hey again you now really kindly well yes oh because or to"
)
_HABITS = ("never", "always")
_LINKS = ("and", "but", "so", "then", "or", "because")
_OPENS_CLAUSE = '-–—"“'
_ENDS_CLAUSE = ',;:)–—-"”.!'
_LEAST_LETTERS_STEMMED = 4
# Endings, longer ones first, and how many letters each has to leave.
_ENDINGS = (
    (("ations", "ation", "ating", "ated", "ates", "ate"), 4),
    (("ings", "ing", "ied"), 3),
    (("ies", "ers", "er", "ed", "es", "s"), 3),
)
# Items are compared with every sentence that may end one.
_MOST_CONTENTS = 2_000
_ONE_WORD = 0.7
_contents: dict[str, frozenset[str]] = {}


def plain(text: str) -> str:
    """The words in lower case with contractions spelled out, a blank around each of them.

    Names of files and variables and what stands in backticks are no words: `created_at` tells of
    nothing created.
    """
    text = text.lower()
    if "`" in text:
        text = " ".join(text.split("`")[::2])
    if "_" in text or "/" in text or "." in text[:-1]:
        text = " ".join([word for word in text.split() if not _is_a_name(word)])
    found = text.translate(_TO_SPACE).split()
    return f" {' '.join([_SPELLED_OUT.get(word, word) for word in found])} "


def marked(text: str) -> str:
    """The same with a mark before the first word of each clause that is more than an opening.

    `Ok, and please never push` becomes ` § okay and please ¦ never push `.
    """
    text = text.lower()
    if "`" in text:
        text = " ".join(text.split("`")[::2])
    found = ["", START]
    begins = True
    for token in text.split():
        begins = begins or token[0] in _OPENS_CLAUSE
        if not _is_a_name(token):
            for word in token.translate(_TO_SPACE).split():
                for spelled in _SPELLED_OUT.get(word, word.strip(_QUOTE)).split():
                    if begins and spelled not in _OPENINGS:
                        found.append(MARK)
                        begins = False
                    if found[-1] in _HABITS and _is_told(spelled):
                        found[-1] = ""  # "it never works" tells of a habit and rules nothing
                    found.append(spelled)
                    begins = begins or spelled in _LINKS
        begins = begins or token[-1] in _ENDS_CLAUSE
    return f"{' '.join(found)} "


def _is_told(verb: str) -> bool:
    """Whether a verb after `never` or `always` tells of something: `always fails`, `never saw`."""
    return verb.endswith(("ed", "ing")) or (verb[-1:] == "s" and verb[-2:] not in ("ss", "us"))


def _is_a_name(word: str) -> bool:
    return not word.isalpha() and (
        "_" in word[1:-1] or "/" in word[:-1] or "." in word[:-1].rstrip(".,;:!?)\"'*")
    )


def content(text: str) -> frozenset[str]:
    """The stems of the words that carry the meaning of a text."""
    known = _contents.get(text)
    if known is None:
        if len(_contents) >= _MOST_CONTENTS:
            _contents.clear()
        known = _contents[text] = content_of(text)
    return known


def content_of(text: str, without: Collection[str] = ()) -> frozenset[str]:
    """The same, without words that do not count; names fall into their parts.

    Args:
        text: any text.
        without: words that do not count here.
    """
    found = text.lower().translate(_TO_SPACE).split()
    return frozenset(
        stem(word.strip(_QUOTE))
        for word in found
        if word not in _STOP_WORDS
        and word not in without
        and word not in _SPELLED_OUT
        and (len(word) > 1 or word.isdigit())
    )


def stem(word: str) -> str:
    """A word without its most common endings, so that `exports` and `exporting` are one."""
    if len(word) < _LEAST_LETTERS_STEMMED or not word.isalpha():
        return word
    for endings, least in _ENDINGS:
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= least:
                return _bare(word[: -len(ending)])
    return _bare(word)


def _bare(word: str) -> str:
    """Without a doubled consonant and a final vowel: `dropp` and `remove` as in other forms."""
    if len(word) > len("abc") and word[-1] == word[-2] and word[-1] not in "aeiouls":
        return word[:-1]
    return word[:-1] if len(word) > len("abc") and word[-1] in "eiy" else word


def fit(said: frozenset[str], item: frozenset[str], telling: int) -> float:
    """How well a mention fits an item, from 0 to 1.

    Words that no item holds tell none of them from another and hardly count. `v2` and `v3` of a
    thing are two things. One word in common is not much, unless no more was said.

    Args:
        said: the content words of the mention.
        item: those of the item.
        telling: how many words of the mention any item holds.
    """
    shared = said & item
    if not shared or differ(said - shared, item - shared):
        return 0.0
    found = 0.6 * len(shared) / telling + 0.2 * len(shared) / len(item)
    found += 0.2 * len(shared) / len(said)
    return found * (_ONE_WORD if len(shared) == 1 < len(said) else 1)


def differ(said: frozenset[str], item: frozenset[str]) -> bool:
    """Whether each side holds a figure or a version that the other one lacks."""
    return any(not word.isalpha() for word in said) and any(not word.isalpha() for word in item)
