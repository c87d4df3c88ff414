"""The turns of phrase by which people state rules, choices, work to do and its end: data."""

from __future__ import annotations

from brimline.carry.words import word_set

CONSTRAINT = """
    1 also never|also do not|also always|also only|^ never|^ always|^ do not|^ avoid|^ refrain
    1 ^ keep * as is|^ only|must not|must never|must|you never|you always|should never
    1 should always|will never|never ever|under no|no circumstances|not allowed|only allowed
    1 forbidden|not permitted|prohibited|off limits|hands off|keep your hands|keep your fingers
    1 stay away|stay out of|stay clear|keep out|keep away|keep clear|leave * alone|leave * as is
    1 leave * as it is|leave * as they are|leave * untouched|let * as it is|let * as is
    1 keep * as it is|keep * untouched|keep * intact|keep * unchanged|until i say|until i tell
    1 until i give|until i have|unless i|without my|without asking|ask me|ask before|ask first
    1 check with me|wait for my|my approval|my permission|my okay|make sure|please avoid
    1 should avoid|to avoid|lets avoid|you should not|we should not|shall not|you may not|may only
    1 only use|use only|only touch|only change|only edit|only write|only run|only commit|only push
    1 only deploy|only work|only when|only after|only if|only with|at no point|in no case
    1 by no means|on no account|not before|not until|no * before|no * without|no * until
    1 nothing * without|nothing goes|nothing leaves|^ nobody|^ no one|read only|is frozen
    1 are frozen|code freeze|hold off|wait with|wait until|^ stick to|please stick to|^ stay on
    1 ^ stay below|^ stay under|^ stay within|stay under|stay below|stay within|keep * under
    1 keep * below|keep * within|^ no new|no more than|at most|insists that|rather you did not
    1 prefer you did not|prefer if you did not|do not want|would not want|not supposed|a no no
    1 taboo|sacred|mandatory|compulsory|strictly|from now on|whatever you do|whatever happens
    1 careful not|without changing|without touching|without breaking|without dropping
    1 without adding|without using|not to touch|hard requirement|no matter what|at all costs
    1 ^ not even|exclusively|please not|not touch|please do not|you dare|needs my|need my
    1 confirm with me|tell me before|let me review before|show me before|^ no touching
    1 no changes to|^ no edits|^ no commits|^ no pushing|^ no pushes|^ no deploys|^ no deploying
    1 ^ no direct|not without|did not say|has to stay|have to stay|needs to stay|has to remain
    1 must remain|no longer than|not exceed|limit yourself|restrict yourself|contractually
    1 no way around|every * has to|all * have to|every * must|all * must
    0.9 ^ keep|^ leave|^ stay|^^ nothing|^^ no|sign off|house rule|ground rule|policy|careful with
    0.9 be gentle with|wait for|legal says|compliance|security says|every * needs|capped at
    0.9 please no|^ ensure|please ensure|in any case|stays below|stays under|do not even
    0.9 is required|are required|keeps its|keeps their|required to|^ never again
    0 do not know|do not think|do not see|do not understand|do not remember|do not worry|do not get
    0 do not recall|do not mind|do not care|do not have|do not bother|never mind|must have
    0 must be because|make sure i|must admit|not a must|do not forget|do not let me forget
    0 why do not|do not we|not have to|do not need|do not seem|do not appear|do not really
    0 do not exist|^ no i|^ no we|^ no that|^ no it|^ no the|^ no this|^ no you|^ no need
    0 ^ keep going|^ not sure|^ no idea|^ no problem|^ no worries|^ not really|^ not a|^ no rush
    0 ^ not yet|^ keep it up|^ only one|^ not bad|^ no lets|^ leave it to me|^ no thanks|^ not only
    0 ^ no just|^ keep in mind|^ no longer|^ keep an eye|^ keep me posted|^ keep track|^ not that
    0 ^ only the|^ only a|^ no but|^ no there|^ not quite|^ nothing else|^ no more|^ not the
    0 ^ only shows|^ leave out|^ never seen|^ not needed|we do not have|what must|^ no questions
"""

# With these a sentence that opens like a rule only tells how things are.
TELLS = word_set(
    "was were is are has have had found seen exists appears appear shows show seems triggered"
    " happens happened getting got gets matched yet"
)

REJECTED = """
    1 rejected|^ reject|ruled out|rule out|rules * out|ruling out|discarded|dismissed
    1 decided against|decide against|not going with|will not use|not using|not going to use
    1 off the table|not an option|no option|out of the question|is out|are out|a no go|no go
    1 dead end|^ scrap|scrapped|^ ditch|ditched|dropped the idea|drop the idea|drop that idea
    1 ^ abandon|lets abandon|abandoned|vetoed|veto|turned down|turn down|considered * but
    1 looked at * but|looked into * but|tried * but|thought about * but|evaluated * but
    1 would have * but|explored * but|not worth|does not cut it|will not fly|will not work for us
    1 do not propose|do not suggest|stop suggesting|stop proposing|rather not|wrong tool|overkill
    1 skip that option|not doing|against * speaks|speaks against|not again|never again|unsuitable
    1 not suitable|unusable|disqualified|shelved|^ shelve|moved away from|not a fit|not a good fit
    1 not an alternative|no alternative|killed the|kill the|drop the * approach|drop the * option
    1 not good enough|did not work out|failed us|burned us|bitten us|bit us|not happening
    1 do not go with|not go with|not go for|drop the * plan|considered and|in the end not
    1 not the right|lost out|is dead|been there|we tried
    0.8 does not work for us|not viable|infeasible|not feasible|too risky|not convinced|^ forget
    0.8 forget about|^ no thanks|do not like|against using|no longer considering|would not go
    0.8 too slow|too expensive|too heavy|too complex|too complicated|too fragile|too brittle
    0 is out of date|out of the box|is out of|are out of|rejected request|turn down the
    0 is out there|not worth it to|request was rejected|were rejected by|was rejected by
    0 rejected by the
"""
REJECTED_BY_MODEL = """
    1 was rejected|were rejected|not suitable|is not an option|not fit for|did not help|i dropped
    1 we dropped|no longer consider|falls away|there is no point|loses here|lost to|not worth it
    1 does not pay off|was a dead end|i rejected|we rejected|^ rejected|rejected because
    1 rejected in favour|rejected in favor|rejected since|rejected as|ruled out|ruling out
    1 rules out|rule out|rules * out|decided against|i dismissed|we dismissed|i discarded
    1 we discarded|discarded because|^ not using|we are not using|i am not using|i will not use
    1 we will not use|not going with|not going to use|considered * but|considered and
    1 looked into * but|looked at * but|i tried * but|we tried * but|evaluated * but
    1 thought about * but|explored * but|off the table|not an option|would not go|i would not use
    1 dropped because|dropped in favour|dropped in favor|^ scrapped|is out|are out|not viable
    1 out of the question|we are not going|^ no go|is a no go|dead end|passed over|not a good fit
    1 not a fit|^ against|abandoned because
    0.8 not worth the|would be overkill|is overkill|too risky|unsuitable
    0 is out of|are out of|out of date|i looked at the|request was rejected|was rejected by
    0 i tried to|not an option in|is out there
"""

DECISION = """
    1 decided|decision|going with|go with|went with|settled|settle on|opted|opt for|opting for
    1 sticking with|stick with|standardise on|standardize on|standardising on|standardizing on
    1 lets use|lets take|lets just use|final call|final answer|verdict|in favour of|in favor of
    1 way to go|prefer * over|chose|chosen|as agreed|as discussed|agreed|do it with|we will use
    1 we will go|we will keep|we will take|we will store|we will build|we will do|use * instead
    1 ^ use * not|^ use * rather|picked|^ pick|we stay with|we go for|lets go for|lets do|lets keep
    1 lets stay|lets stick|we use|we take|we keep|we are using|we are going|^ choose|committed to
    1 commit to|adopt|adopting|the winner|from the meeting|we are keeping|lets * instead|^ take
    1 my vote|is the plan|the plan is|make it|we want|would like to have
    0.9 ^ switch to|lets switch|lets move to|^ default to|lets default|confirmed|approved
    0.8 good enough|it is then|^ use|^ go for
    0 take it off|take it from|take care|take over|not agreed|decision tree|chosen by|pick up
    0 picked up|go for it|lets do it|lets do that|lets do this|make it work|make it so|the chosen
    0 take a look|take a step|^ take your time|take into account|we want to know|would take
    0 we use the|adopt the same|i agreed
"""
DECISION_BY_MODEL = """
    1 agreed on|i will implement * with|i am implementing * with|i built * with|from now on
    1 the plan is|the plan is now|^ choosing|we therefore|i therefore|settled the question
    1 the choice fell|we landed on|i landed on|we will therefore|is going to use|are going to use
    1 i decided|we decided|i have decided|we have decided|^ decided|^ decision|the decision is
    1 decision was|going with|i went with|we went with|i will go with|we will go with
    1 i would go with|settled on|^ settled|we settled|i have settled|opted for|opting for
    1 sticking with|i chose|we chose|i have chosen|chose * over|picked * over|i picked|my pick
    1 we picked|^ agreed|standardise on|standardize on|we will use|we will keep|we will stay
    1 we are going with|i will use * instead|i will use * for|i will use * because
    1 i will use * since|i will use * over|i am using * instead|i used * instead|i am going to use
    1 i am going to go with|design choice|design decision|final decision|final choice|prefer * over
    1 in favour of|in favor of|it is then|we are keeping|is the way to go|use * rather than
    1 i have opted|i stick with|we stick with|as you decided|as agreed|as decided|you chose
    1 you picked|you decided|chosen *
    0.8 verdict|i recommend|my recommendation|we use|we keep|the choice
    0 separate design decision|i will use the|i will use grep|i will use a search|decision tree
    0 chosen by|picked up|we use the|going with the flow|if you decided|it is for now|the chosen
"""

TASK = """
    1 todo|still to do|^ to do|left to do|things to do|next up|^ next step|^ next steps|after that
    1 afterwards|when you are done|once you are done|once that is done|when that is done
    1 once this is done|when you are through|when you are finished|^ after this|later we|still need
    1 still needs|still have to|still has to|still to|still missing|still open|^ remaining
    1 remaining for|remaining work|remaining tasks|remaining items|what is left|outstanding
    1 do not forget|do not let me forget|remember to|remind me|follow up|follow ups|action item
    1 action items|backlog|parking lot|we owe|before the release|before we ship|before release
    1 before the demo|for tomorrow|^ one more thing|not done yet|left for later|have not gotten
    1 not yet done|unfinished|put * on the list|on the list|to the list|on my list|on your list
    1 as a follow|open point|open points|open item|open items|later please|for later|not started
    1 yet to be|up next|not now|when there is time|when you have time|when you find time
    1 if there is time|some day|someday|^ later|^ next|^ tomorrow
    0.9 please also|oh and|also add|also write|also fix|also update|also create|also remove
    0.9 also rename|also document|also check|also make|also need|also have to|also implement
    0.9 also bump|also test|also move|also clean|also extend|also handle|also support|also port
    0.9 also migrate|also wire|also drop|also delete|also translate|also measure|also split
    0.9 at some point|eventually|is open|are open|^ also|we also need|is due
    0.8 second step|third step|in the next step|would be good to|would be nice to|would be good
    0.8 would be nice|^ missing|can come later|not urgent|low priority|nice to have|^ then
    0.8 ^ additionally|next week
    0 also i|also we|also it|also the|also let|also there|also this|also that|also in|also if
    0 also when|also do|also can|also my|also you|also a|also our|also what|also how|also never
    0 follow up question|see you later|sooner or later|not yet sure|are open pr|on the list of
    0 also note|is open source|also known
"""

DONE = """
    1 cross it off|tick it off|check it off|i have implemented|i have added|i have fixed
    1 i have written|i have updated|i have removed|i have created|i implemented|i added|i fixed
    1 has done|have done|is done|are done|^ done|done with|i am done|now done|all done|finished
    1 completed|is complete|are complete|is now complete|is merged|are merged|has landed
    1 just landed|shipped|in place now|is in place|are in place|works now|working now|wrapped up
    1 ticked off|checked off|crossed off|tick off|check off|cross off|taken care of|is sorted
    1 already done|is closed|are closed|is resolved|are resolved|all set|is live|went live
    1 has been added|have been added|been fixed|been merged|been done|been completed
    1 been implemented|got done|is implemented|are implemented
    0.8 added|fixed|created|updated|removed|renamed|wrote|written|moved|replaced|migrated|bumped
    0.8 documented|refactored|extracted|wired|ported|converted|upgraded|cleaned|deleted|extended
    0.8 committed|pushed|passes now|now passes|now green|are green|is green|handled|tested|merged
    0.8 introduced|switched|enabled|disabled|configured|installed|rewrote|rewritten|dropped|set up
    0.8 improved|covered|published|rolled out|squashed|reverted|cleared|verified|benchmarked|done
    0.8 implemented|resolved|deployed|released|translated|measured|backfilled|tightened|complete
    0.5 did|already|myself|ready|gone|behind us|in the bag|tick|cross|solved|closed|checked|made
    0.5 delivered|built|finally|finish|through with|care of|sorted
    0 not done|not finished|to be done|done yet|get it done|half done|not complete|not completed
    0 well done|once done|when done|nothing done|is deployed in|is deployed on|done that|be done
    0 is deployed to|is written in|not merged|be merged|be finished|be completed|be fixed|be added
    0 be removed|be deployed|be released|be shipped|be closed|be updated|not resolved|be created
    0 be moved|be migrated|be tested|be written|not implemented|not fixed|not added|be implemented
    0 be replaced|be renamed|is resolved by|done by|is done in|is added by|are added by
    0 is created by|be resolved|be handled|is handled by|is updated by|closed by
    0 has already finished|already finished writing|the prompt finished|when finished
"""
# Finished work is told of in these places of a sentence; elsewhere the words may mean anything.
DEED_BEGINS = (
    *(" done ", " finished ", " completed ", " i have finished ", " i finished ", " i am done "),
    *(" i have completed ", " i completed ", " all done "),
)
DEED_ENDS = (
    *(" is done ", " are done ", " finished ", " is complete ", " are complete ", " completed "),
    *(" merged ", " in place ", " has landed ", " shipped ", " is in ", " now done "),
)
UNFINISHED = word_set(
    "once when unfinished until unless if will should partially half almost except need needs"
    " pending would blocked failing fails fail failed not never yet"
)

CANCELLED = """
    1 off your list|off my list|off our list|off the backlog|no longer have to|no longer want
    1 cancel|cancelled|canceled|scrap|scrapped|never mind|nevermind|forget about|no longer need
    1 no longer needed|no longer necessary|no longer required|no longer relevant|not needed
    1 not necessary|not required|do not need|does not need|do not bother|obsolete|moot|out of scope
    1 will not do|not going to do|abandon|descoped|leave out|no need|off the list|from the list
    1 unnecessary|wontfix|will not fix|can be dropped|drop the|drop that|^ drop|not doing|^ strike
    1 superseded|not worth doing|skip the|skip that|^ skip|lets skip|lets drop|lets not|forget it
    1 forget the|dropped|called off|scratch that|scratch the|withdrawn|we can drop|you can drop
    1 can skip|we can skip|is off|are off|not happening|kill the|someone else|has taken over
    1 takes over|will take over|took over|duplicate|redundant|axed|shelved|^ shelve|leave it out
    1 ^ forget|changed my mind|got rid of the need|solved itself|by itself|handed over|gave that to
    0.8 forget|drop|skip|dead|after all|not to do|not do|ignore
    0.5 anymore|instead|needless|no point|waste|irrelevant|leave it|let it go|without it|longer
    0 skip ci|do not forget|do not skip|do not drop|dead code|drop down|is off limits
    0 are off limits|is off by|do not cancel|do not need to ask|do not let me forget|do not need my
"""

LIFTED = """
    1 you may|may now|can now|okay to|allowed now|now allowed|is allowed|are allowed|^ go ahead
    1 feel free|no longer applies|no longer apply|does not apply|do not apply|forget the rule
    1 ignore the rule|forget what i said|ignore what i said|freeze is over|is over|are over|lifted
    1 no longer off limits|no longer frozen|no longer forbidden|you have my okay|have my okay
    1 green light|fine to|free to|unblocked|drop the rule|rule is gone|fine now|okay now|okay again
    1 allowed again|permitted now|permission to|you can * now|now you can|from now on you can
    1 from now on you may|rule about|restriction about|no need to ask|do not need to ask
    1 do not have to ask|not need my|not need to wait|can be changed now|can be touched|unfrozen
    1 may be changed|is unlocked|i take back|take back what|scratch the rule|is open again
    1 no longer have to|no longer need to|approved the|approved now|gave the go|given the go
    1 signed off|has signed|gave green|is fine with|is okay with|no longer read only|opened up
    0.8 is free|are free|is * again|are * again|cleared to|unlock|unlocked|welcome to|whenever
    0.5 can|may|allowed|resumed|approved
    0 not allowed|only allowed|not okay to|not fine to|can now see|you may want|you may notice
    0 you may not|can not|never again|again and again|once again|not now|until now
"""
# These say that a rule or a task stands.
STANDING = word_set("still until till unless only never not must remember reminder always yet")
UNTIL = word_set("until till unless")
LIFTING_WORDS = word_set(
    "allowed rule rules restriction lifted lift free feel ahead permission okay fine applies"
    " apply freeze over said ignore forget again unblocked light green ban longer anymore wait"
    " ask asking approved signed today meanwhile"
)
CLOSING_WORDS = word_set(
    "done finished finish completed complete merged merge landed shipped ship place works"
    " working implemented wrapped ticked checked crossed taken care sorted deployed released"
    " already closed resolved solved set live added fixed created updated removed renamed"
    " wrote written moved replaced cancel cancelled canceled scrap mind nevermind forget"
    " needed necessary required relevant bother obsolete moot scope abandon descoped leave"
    " list unnecessary drop dropped strike superseded worth skip shelved anymore task item"
    " todo ticket job part idea thing longer successfully all been off out tick check cross"
    " tested myself meantime pass passes passing green"
)

# What is worth keeping though it is neither a rule nor a choice.
TELLING = """
    1 root cause|turns out|turned out|the culprit|the cause|the reason|because of|due to|found that
    1 i found|important|note that|keep in mind|for the record|fyi|remember|heads up|be aware
    1 bear in mind|confirmed|measured|it lives|lives in|is stored|are stored|located|traced
    1 the problem is|the issue is|the bug is|the failure is|fails with|failed with|error is
    1 conclusion|in short|bottom line|key finding|findings|recommend|recommendation|caused by
    1 responsible|is caused|the fix is|the answer is|verdict|we found|limit is|default is
    1 comes from|points to|bottleneck|leak|leaks|regression|dies with|crashes with
"""
# How the assistant announces its next step: of no use once the step is taken.
NARRATION = tuple(
    f" {words} "
    for words in (
        *("let me", "i will now", "next i will", "first let me", "lets see", "now i", "first i"),
        *("i will check", "i will look", "i will read", "i will run", "i will start"),
        *("looking at", "checking", "running", "reading", "searching", "lets check", "lets run"),
        *("lets look", "i need to look", "i need to check", "i see", "i can see"),
        *("i am going to", "on it", "i will fix", "i will update", "i will add", "i will do"),
        *("i will also", "then i will", "i will have a look", "i will take a look"),
        *("i will try", "i will search", "one moment", "i will create", "i will write"),
        *("i will investigate", "here is", "here are", "shall i", "would you like"),
        *("do you want", "should i", "you are right", "i now have", "i have all"),
        *("i have thoroughly", "i have a clear", "i have completed", "i have exhaustively"),
        *("based on my", "now that i", "i have enough", "all claims", "the callers"),
        *("that part",),
    )
)
INTERJECTIONS = word_set("okay good great perfect alright sure yes right now so well ah oh")
ACKNOWLEDGEMENTS = word_set(
    "okay yes yep yeah no nope go on ahead continue proceed thanks thank you great good"
    " perfect nice cool fine looks look lgtm sounds sure please and it that works done now"
    " right correct exactly hmm hm well do this next more keep going carry ship awesome"
    " excellent super alright all so the me what is one by my try a an commit push again"
)
# A user's sentence that begins so asks for something, at that moment.
ASKING = (
    *(" why ", " how ", " what ", " which ", " who ", " where ", " is it ", " is there "),
    *(" are ", " does ", " do we ", " do you ", " did ", " was ", " were ", " can we "),
    *(" could we ", " would it ", " will it ", " any idea", " can you ", " could you "),
    *(" would you ", " lets ", " please ", " show me ", " tell me ", " explain ", " check "),
    *(" give me ", " create ", " add ", " fix ", " update ", " run ", " commit ", " push "),
    *(" write ", " remove ", " rename ", " try ", " i want ", " i need ", " yes ", " yeah "),
    *(" okay ", " look ", " have a look ", " review ", " implement ", " make ", " move "),
    *(" drop ", " change ", " and now ", " now "),
)
# What ends so is not for now.
PUT_OFF = (
    " later ",
    " afterwards ",
    " tomorrow ",
    " soon ",
    " eventually ",
    " sometime ",
    " someday ",
)
REQUESTS = (" can you ", " could you ", " would you ", " will you ", " please ", " mind ")
# Where an assistant's sentence says so, or the line before its list, work is left.
LEFT_TO_DO = """
    1 next step is|next step would|are left|is left to|i postponed|we postponed|i deferred|put off
    1 i left|left for the end|on my list|pending on|for another time|not gotten around|what remains
    1 remaining work|still to do|not done yet|left for later|left to do|have not gotten to
    1 we still need to|still needs to|i still need to|what is left|yet to be done|i still have to
    1 still missing|not yet done|next steps|open items|follow ups|^ todo|^ to do|outstanding items
    1 outstanding tasks|outstanding work|remaining tasks|remaining items|remaining steps
    1 the remaining ones|^ remaining|still open|is deferred|are deferred
    0 no remaining|no outstanding|nothing left
"""
# The assistant gives a reason: what a choice or a finding looks like where no cue names it.
REASONS = (" because ", " since ", " so that ", " due to ", " therefore ", " as it ", " hence ")
