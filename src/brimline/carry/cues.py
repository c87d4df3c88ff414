"""The turns of phrase by which people state rules, choices, work to do and its end. Data.

One cue per line: how sure it is, then the words as `words.plain` spells them; `*` stands for
anything in between. A cue of strength 0 says that the words in it mean nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Table = dict[str, list[tuple[tuple[str, ...], float]]]


def _table(*texts: str) -> Table:
    """Cues by the longest word in each: only what a sentence holds is ever looked at."""
    found: Table = {}
    for strength, phrase in _cues(texts):
        parts = tuple(f" {part.strip()} " for part in phrase.split("*"))
        longest = max(phrase.replace("*", " ").split(), key=len)
        found.setdefault(longest, []).append((parts, strength))
    return found


def _cues(texts: tuple[str, ...]) -> Iterator[tuple[float, str]]:
    for text in texts:
        for line in text.strip().splitlines():
            strength, _, phrases = line.strip().partition(" ")
            for phrase in phrases.split("|"):
                yield float(strength), phrase.strip()


def strongest(plain: str, table: Table) -> float:
    """How sure the surest cue of a table in these plain words is; 0 without one."""
    best = 0.0
    hollow = []
    for word in plain.split():
        for parts, strength in table.get(word, ()):
            if strength == 0 and _holds(plain, parts):
                hollow.append(parts[0])
            elif strength > best and _holds(plain, parts):
                best = strength
    if best and hollow:
        for phrase in hollow:
            plain = plain.replace(phrase, " ")
        return strongest(plain, table)
    return best


def _holds(plain: str, parts: tuple[str, ...]) -> bool:
    at = 0
    for part in parts:
        at = plain.find(part, at)
        if at < 0:
            return False
        at += len(part) - 1  # the blank at its end may begin the next part
    return True


CONSTRAINT = _table(
    """
    1 never|must not|must never|do not|under no|no circumstances|not allowed|only allowed|forbidden
    1 not permitted|prohibited|off limits|hands off|keep your hands|stay away|stay out of|stay clear
    1 keep out|keep away|keep clear|leave * alone|leave * as is|leave * as it is|leave * as they are
    1 leave * untouched|let * as it is|let * as is|keep * as is|keep * as it is|keep * untouched
    1 keep * intact|keep * unchanged|until i say|until i tell|until i give|until i have|unless i
    1 without my|without asking|ask me|ask before|ask first|check with me|wait for my|my approval
    1 my permission|my okay|always|make sure|must|avoid|refrain|should not|should never|shall not
    1 may not|may only|only use|use only|only touch|only change|only edit|only write|only run
    1 only commit|only push|only deploy|only work|only when|only after|only if|only with|only in
    1 at no point|in no case|by no means|on no account|not before|not until|no * before|no * without
    1 no * until|nothing * without|nothing goes|nothing leaves|nobody|no one|read only|is frozen
    1 are frozen|code freeze|hold off|wait with|wait until|stick to|stay on|stay below|stay under
    1 stay within|keep * under|keep * below|keep * within|no new|no more than|at most|insists that
    1 insist|rather you did not|prefer you did not|prefer if you did not|do not want|would not want
    1 not supposed|no no|taboo|sacred|mandatory|compulsory|strictly|from now on|whatever you do
    1 whatever happens|careful not|without changing|without touching|without breaking
    1 without dropping|without adding|without using|not to touch|hard requirement|no matter what
    1 at all costs|not even|exclusively|please not|not touch|not change|not modify|not delete
    1 not remove|not edit|not commit|not push|not deploy|not merge|not run|not restart|not use
    1 not add|not install|not upgrade|not call|not rename|not log|not write|need my|needs my
    1 confirm with me|tell me before|let me review before|show me before|no touching|no changes to
    1 no edits|no commits|no pushing|no pushes|no deploys|no deploying|no direct|not without
    0.9 has to stay|have to stay|needs to stay|has to remain|must remain|stays as|stays on|stays in
    0.9 sign off|is required|are required|requires|no longer than|not exceed|limit yourself
    0.9 restrict|confine|policy|house rule|ground rule|constraint|careful with|be gentle with
    0.9 wait for|insisted|contractually|legal says|compliance|security says|no way around
    0.8 every * has to|every * must|all * have to|all * must|every * needs|capped at|please no
    0.8 ensure|in any case|stays below|stays under
    """,
    """
    0 i do not know|i do not think|i do not see|i do not understand|i do not remember|do not worry
    0 i do not get|i do not recall|i do not mind|i do not care|we do not have|we do not know
    0 i do not have|do not bother|do not think so|never mind|it never|i never|i have never
    0 have never been|has never|was never|is never|were never|never seen|never worked|it always
    0 always been|as always|not only|if only|the only|only one|only a few|only shows|is only
    0 was only|it only|must have|must be because|make sure i|have to say|has to do with|not sure
    0 do not forget|do not let me forget|why do not|do not we|not a must|not be able|not have to
    0 can not see|can not find|can not remember|can not tell|can not reproduce|up to date|up to you
    0 keep going|keep in mind|keep an eye|keep me posted|keep track|without any issues
    0 without problems|we do not need|you do not need|leave it at that|keep up|to stay|at least one
    0 did not|does not|do not yet|they do not|not used|not use it|not add up|not run yet
    0 can not be|could not|would not|will not|it should not|that should not|this should not
    0 stay tuned|at least it|at least the|at least we|at least i|what must|lets keep|must admit
    """,
)

REJECTED = _table(
    """
    1 rejected|reject|rejecting|ruled out|rule out|ruling out|discarded|discarding|dismissed
    1 decided against|decide against|not going with|will not use|not using|not going to use
    1 off the table|not an option|no option|out of the question|is out|are out|no go|dead end
    1 scrap|scrapped|ditch|ditched|dropped the idea|drop the idea|drop that idea|abandoned|abandon
    1 vetoed|veto|turned down|turn down|passed on|considered * but|looked at * but
    1 looked into * but|tried * but|thought about * but|evaluated * but|would have * but
    1 explored * but|not worth|does not cut it|will not fly|will not work for us|do not propose
    1 do not suggest|stop suggesting|stop proposing|no longer considering|rather not|wrong tool
    1 overkill|skip that option|not doing|against * speaks|speaks against|not again|never again
    1 unsuitable|not suitable|unusable|disqualified|shelved|shelve|moved away from|not a fit
    1 not a good fit|does not fit|not an alternative|no alternative|instead of * because|killed the
    1 kill the|drop the * approach|drop the * option|not good enough|did not work out|failed us
    1 burned us|bitten us|bit us|not happening|we are not going|do not go with|not go with
    1 do not use|drop the * plan|considered and|in the end not|not the right|lost out|is dead
    0.8 does not work for us|not viable|infeasible|not feasible|too risky|not convinced
    0.8 forget about|no thanks|do not like|do not want * option|against using|against it
    0.6 too slow|too expensive|too heavy|too complex|too complicated|too fragile|too brittle
    0.6 forget|not happy with|not keen|rules out|rather than
    """,
    """
    0 is out of date|out of the box|is out of|are out of|rejected request|pass on to|not worth it to
    0 time is out|rejects|not using up|do not worry
    """,
)

DECISION = _table(
    """
    1 decided|decision|going with|go with|went with|settled|settle on|opted|opt for|opting for
    1 sticking with|stick with|standardise on|standardize on|standardising on|standardizing on
    1 lets use|lets take|final call|final answer|verdict|in favour of|in favor of|way to go
    1 prefer * over|chose|chosen|as agreed|as discussed|agreed|it is agreed|do it with|resolved to
    1 we will use|we will go|we will keep|we will take|we will store|we will build|we will do
    1 use * instead|instead of using|use * not|use * rather|picked|picking|pick|we stay with
    1 we go for|lets go for|go for|lets do|lets keep|lets stay|lets stick|we use|we take|we keep
    1 we are using|we are going|i am going with|i have chosen|i have picked|i have settled
    1 i will go with|i went with|choose|committed to|commit to|adopt|adopting|the winner
    1 from the meeting|we are keeping|over * because|over * since|we chose|we picked
    0.8 switch to|switching to|moving to|move to|default to|based on|built on|it is then
    0.8 confirmed|approved|signed off on|my vote|conclusion|concluded|the plan is|take * for
    0.8 i will use|we * instead of|i * instead of|use * instead of|using * instead of|make it
    0.7 recommend|recommendation|keep * as the|goes through|good enough|will use|will be
    0.6 rather than|instead|approach|strategy
    """,
    """
    0 i will use the|i will use grep|i will use a|i will use an|will be able|will be notified
    0 not agreed|decision tree|chosen by|pick up|picked up|approach to|go for it|lets do it
    0 lets do that|lets do this|based on this|based on the|based on my|based on your|will be happy
    0 make it work|make it so
    """,
)

TASK = _table(
    """
    1 todo|to do|next up|next step|next steps|after that|afterwards|when you are done
    1 once you are done|once that is done|when that is done|once this is done|when you are through
    1 when you are finished|after this|later we|at some point|eventually|still need|still needs
    1 still have to|still has to|still to|still missing|still open|is open|are open|remaining
    1 remains|left to do|what is left|is left|outstanding|do not forget|do not let me forget
    1 remember to|remind me|follow up|follow ups|action item|action items|pending|backlog
    1 parking lot|we owe|before the release|before we ship|before release|before the demo
    1 for tomorrow|please also|oh and|one more thing|not done yet|have not gotten|left for later
    1 not yet done|unfinished|put * on the list|on the list|to the list|on my list|on your list
    1 also add|also write|also fix|also update|also create|also remove|also rename|also document
    1 also check|also make|also need|also have to|also implement|also bump|also test|also move
    1 also clean|also extend|also handle|also support|also port|also migrate|also wire|also drop
    1 as a follow|open point|open points|open item|open items|later please|later on|for later
    1 not started|yet to be|yet to|is due|up next|not now|when there is time|when you have time
    1 when you find time|if there is time|some day|someday|later|tomorrow|next week|afterward
    0.8 second step|third step|in the next step|would be good to|would be nice to|also have to
    0.8 missing|we also need|also needs|can come later|not urgent|low priority|nice to have
    """,
    """
    0 need to know|has to do with|have to say|no need to|not need to|do not need|does not need to
    0 do not have to|not have to|used to|sooner or later|see you later|once again|at once
    0 not yet sure|i have to
    """,
)

DONE = _table(
    """
    1 done|is done|are done|finished|completed|is complete|are complete|is now complete|merged
    1 landed|shipped|in place|works now|working now|implemented|wrapped up|ticked off|checked off
    1 crossed off|tick off|check off|cross off|taken care of|sorted|deployed|released|already done
    1 is closed|are closed|closed it|closed that|closed the|resolved|solved
    1 all set|good to go|is in now|is live|went live|has been added|have been added|been fixed
    0.8 added|fixed|created|updated|removed|renamed|wrote|written|moved|replaced|migrated|bumped
    0.8 documented|refactored|extracted|wired|ported|converted|upgraded|cleaned|deleted|extended
    0.8 committed|pushed|complete|passes now|now passes|now green|are green|is green|handled|tested
    0.8 introduced|switched|enabled|disabled|configured|installed|rewrote|rewritten|dropped|set up
    0.8 improved|covered|published|rolled out|squashed|reverted|cleared|verified|benchmarked
    """,
    """
    0 not done|not finished|to be done|done yet|get it done|half done|not complete|not completed
    0 well done|once done|when done|nothing done|i am done for|is deployed in|is deployed on
    0 is deployed to|is written in|not merged|be merged|be done|be finished|be completed|be fixed
    0 be added|be removed|be deployed|be released|be shipped|be closed|be updated|not resolved
    0 be created|be moved|be migrated|be tested|be written|not implemented|not fixed|not added
    0 be implemented|be replaced|be renamed|is resolved by|done by|is done in|is added by
    0 are added by|is created by|be resolved|be handled|is handled by|is updated by|closed by
    """,
)
UNFINISHED = frozenset(
    "unfinished until unless if will should partially half almost except need needs pending would"
    " blocked failing fails fail failed not never yet".split()
)

CANCELLED = _table(
    """
    1 cancel|cancelled|canceled|scrap|never mind|nevermind|forget about|no longer need
    1 no longer needed|no longer necessary|no longer required|no longer relevant|not needed
    1 not necessary|not required|do not need|does not need|do not bother|obsolete|moot
    1 out of scope|will not do|not do|not going to do|abandon|descoped|leave out|no need|off the list
    1 from the list|unnecessary|wontfix|will not fix|can be dropped|drop the|drop that|drop it
    1 not doing|strike|superseded|not worth doing|skip the|skip that|skip it|lets skip|lets drop
    1 lets not|forget it|forget the|dropped|called off|scratch that|scratch the|withdrawn
    1 we can drop|we can skip|is off|are off|not happening|kill the|someone else|has taken over
    1 takes over|will take over|took over|duplicate|redundant|axed|shelved|shelve|leave it out
    0.8 forget|drop|skip|dead
    """,
    """
    0 skip ci|do not forget|do not skip|do not drop|dead code|drop down|is off limits|are off limits
    0 is off by|do not cancel|do not need to ask|do not let me forget|not do that without
    0 do not need my
    """,
)

LIFTED = _table(
    """
    1 you may|may now|can now|okay to|allowed now|now allowed|is allowed|are allowed|go ahead
    1 feel free|no longer applies|no longer apply|does not apply|do not apply|forget the rule
    1 ignore the rule|forget what i said|ignore what i said|freeze is over|is over|are over|lifted
    1 no longer off limits|no longer frozen|no longer forbidden|you have my okay|have my okay
    1 green light|fine to|free to|unblocked|drop the rule|rule is gone|fine now|okay now|okay again
    1 allowed again|permitted now|permission to|you can * now|now you can|from now on you can
    1 from now on you may|rule about|restriction about|no need to ask|do not need to ask
    1 do not have to ask|not need my|not need to wait|can be changed now|can be touched|unfrozen
    1 may be changed|is unlocked|i take back|take back what|scratch the rule|is open again
    1 no longer have to|no longer need to|approved the|approved now|gave the go|given the go
    1 signed off|has signed|gave green|is fine with|is okay with
    """,
    """
    0 not allowed|only allowed|not okay to|not fine to|can now see|you may want|you may notice
    0 needs to be signed off|until * signed off
    """,
)
LIFTING_WORDS = frozenset(
    "allowed rule rules restriction lifted lift free feel ahead permission okay fine applies apply"
    " freeze over said ignore forget again unblocked light green ban longer anymore wait ask asking"
    " approved signed today meanwhile".split()
)
CLOSING_WORDS = frozenset(
    "done finished finish completed complete merged merge landed shipped ship place works working"
    " implemented wrapped ticked checked crossed taken care sorted deployed released already closed"
    " resolved solved set live added fixed created updated removed renamed wrote written moved"
    " replaced cancel cancelled canceled scrap mind nevermind forget needed necessary required"
    " relevant bother obsolete moot scope abandon descoped leave list unnecessary drop dropped strike"
    " superseded worth skip shelved anymore task item todo ticket job part idea thing longer"
    " successfully now all been has have is are was were off out".split()
)

# What is worth keeping though it is neither a rule nor a choice.
TELLING = _table(
    """
    1 root cause|turns out|the culprit|the cause|the reason|because of|due to|found that|i found
    1 important|note that|keep in mind|for the record|fyi|remember|heads up|be aware|bear in mind
    1 confirmed|measured|it lives|lives in|is stored|are stored|located|traced|the problem is
    1 the issue is|the bug is|the failure is|fails with|failed with|error is|conclusion|in short
    1 bottom line|key finding|findings|recommend|recommendation|caused by|responsible|is caused
    1 the fix is|the answer is|verdict|summary|we found|limit is|default is|comes from|points to
    1 bottleneck|leak|leaks|regression|culprit
    """
)
# How the assistant announces its next step: of no use once the step is taken.
NARRATION = tuple(
    f" {words} "
    for words in (
        *("let me", "now let me", "now i", "i will now", "next i will", "first let me", "lets see"),
        *("i will check", "i will look", "i will read", "i will run", "i will start", "looking at"),
        *("checking", "running", "reading", "searching", "now lets", "now the", "good", "great"),
        *("perfect", "okay", "alright", "i need to look", "i need to check", "i see", "i can see"),
        *("now running", "i am going to", "i will fix", "i will update", "i will add", "i will do"),
        *("i will also", "first i will", "then i will", "i will have a look", "one moment"),
        *("i will take a look", "i will go", "i will try", "on it", "sure", "lets check", "lets run"),
        *("lets look", "i will search", "i will create", "i will write", "i will investigate"),
        *("here is", "here are", "would you like", "do you want", "shall i", "should i", "you are"),
    )
)
ACKNOWLEDGEMENTS = frozenset(
    "okay yes yep yeah no nope go on ahead continue proceed thanks thank you great good perfect nice"
    " cool fine looks look lgtm sounds sure please and it that works done now right correct exactly"
    " hmm hm well do this next more keep going carry ship awesome excellent super alright all so the"
    " me what is one by my by try a an commit push again".split()
)
# A user's sentence that begins so asks for something, at that moment.
ASKING = (
    *(" why ", " how ", " what ", " which ", " who ", " where ", " is it ", " is there ", " are "),
    *(" does ", " do we ", " do you ", " did ", " was ", " were ", " can we ", " could we "),
    *(" would it ", " will it ", " any idea", " can you ", " could you ", " would you ", " lets "),
    *(" please ", " show me ", " tell me ", " explain ", " check ", " give me ", " create ", " add "),
    *(" fix ", " update ", " run ", " commit ", " push ", " write ", " remove ", " rename ", " try "),
    *(" i want ", " i need ", " yes ", " yeah ", " okay ", " look ", " have a look ", " review "),
    *(" implement ", " make ", " move ", " drop ", " change ", " and now ", " now "),
)
REQUESTS = (" can you ", " could you ", " would you ", " will you ", " please ", " mind ")
# What begins so is a rule where a user says it; further in it may mean anything.
RULE_OPENINGS = (" keep ", " leave ", " stay ", " only ", " no ", " not ", " nothing ", " none of ")
NO_RULE_OPENINGS = (
    *(" no i ", " no we ", " no that ", " no it ", " no the ", " no this ", " no you ", " no need "),
    *(" keep going ", " not sure ", " no idea ", " no problem ", " no worries ", " not really "),
    *(" not a ", " no rush ", " not yet ", " keep it up ", " only one ", " not bad ", " no lets "),
    *(" leave it to me ", " no thanks ", " not only ", " no just "),
)
TASK_OPENINGS = (" next ", " then ", " later ", " also ", " todo ", " additionally ", " besides ")
# Where an assistant's sentence says so, work is left.
LEFT_TO_DO = tuple(
    f" {words} "
    for words in (
        *("what remains", "remaining work", "still to do", "not done yet", "left for later"),
        *("left to do", "have not gotten to", "we still need to", "still needs", "still need to"),
        *("still open", "what is left", "yet to be", "i still have to", "still missing"),
        *("not yet done", "remaining", "next steps", "open items", "follow ups", "todo", "to do"),
        *("left over", "outstanding", "unfinished", "not yet started"),
    )
)
# The assistant gives a reason: what a choice or a finding looks like where no cue names it.
REASONS = (" because ", " since ", " so that ", " due to ", " therefore ", " as it ", " hence ")
