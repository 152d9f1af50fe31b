"""The head of the page, what happened, and the alarms, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "training.page.title": "What did the model learn under this reward?",
    "training.page.kicker": "Training run",
    "training.page.meta": "{name}, {completions} in {steps}, trained with {framework}",
    "training.page.colophon": "Made by voirdire {version}. Nothing on this page was loaded from "
    "elsewhere. Figures are rounded here; the files of the run have all digits.",
    "count.steps.one": "{n} step",
    "count.steps.many": "{n} steps",
    "count.alarms.one": "{n} alarm",
    "count.alarms.many": "{n} alarms",
    "count.propositions.one": "{n} proposition",
    "count.propositions.many": "{n} propositions",
    "count.paying.one": "{n} proposition that pays",
    "count.paying.many": "{n} propositions that pay",
    "count.pieces.one": "{n} piece",
    "count.pieces.many": "{n} pieces",
}
_STORY = {
    "training.story.title": "What happened",
    "training.short.alarms": "{alarms}",
    "training.short.quiet": "no alarm",
    "training.short.few": "too short to tell",
    "training.short.nothing": "no rewards",
    "training.story.alarms": "<strong>{alarms} began</strong>: {list}.",
    "training.story.alarm": "{said} (step {step})",
    "training.story.alarm.more": "and {n} more",
    "training.story.quiet": "<strong>No alarm began.</strong>",
    "training.story.quiet.few": "<strong>No alarm began</strong>, but most alarms look at means "
    "over ten steps, and this run has {steps}.",
    "training.edge.one": "step",
    "training.story.reward.rose": "<strong>The mean reward rose from {start} to {end}</strong>, "
    "from the first {edge} to the last.",
    "training.story.reward.fell": "<strong>The mean reward fell from {start} to {end}</strong>, "
    "from the first {edge} to the last.",
    "training.story.reward.same": "<strong>The mean reward stayed at {end}</strong>, from the "
    "first {edge} to the last.",
    "training.story.reward.partly": "The mean reward was {start} over the first {edge} and {end} "
    "over the last; a dash is where no completion had a reward.",
    "training.story.reward.one": "At the only step the mean reward is {end}.",
    "training.story.reward.none": "<strong>No completion has a reward.</strong>",
    "training.story.parts": "Of it the rules gave {rule_start} and then {rule_end}, the base "
    "reward {base_start} and then {base_end}.",
    "training.story.reference": "The reference run ({name}) had {mean} at the steps where this "
    "one has {end}.",
    "training.story.reference.none": "The reference run ({name}) has no reward at those steps.",
    "training.story.moved": "The propositions that moved most are {list}.",
    "training.story.move": "{name} ({start} → {end})",
    "training.story.unpaid": "No reward depends on {list}, which moved all the same.",
    "training.story.still": "No proposition moved by .05 or more.",
    "training.story.classes": "Of the classes, {list}.",
    "training.story.class": "{name} of {behavior} went from {start} to {end}",
    "training.story.length.tokens": "The mean length of a response went from {start} to {end} "
    "tokens.",
    "training.story.length.characters": "The mean length of a response went from {start} to "
    "{end} characters.",
    "training.story.missing": "{share} of all completions got no reward.",
    "training.story.missing.none": "Every completion got a reward.",
    "training.story.uncertified": "No valid certificate vouches for the judge of {n} of the "
    "{propositions}.",
    "training.story.flat": "In {share} of the groups of the last steps all rewards are equal: "
    "nothing is learnt from those.",
}
_ALARMS = {
    "training.alarms.title": "Alarms",
    "training.alarms.none": "None began.",
    "training.alarms.caption": "Alarms in the order in which they began. Each is told once, until "
    "it has ended and begins anew.",
    "training.alarms.label": "Alarms by step",
    "training.alarms.cut": "The first {shown} of {n} are shown.",
    "training.alarms.do": "What to do",
    "training.column.step": "Step",
    "training.column.alarm": "Alarm",
    "training.column.said": "What was seen",
    "training.alarm.missing": "missing",
    "training.alarm.saturation": "saturation",
    "training.alarm.drift": "drift",
    "training.alarm.length": "length",
    "training.alarm.spread": "spread",
    "training.alarm.nonsense": "nonsense",
    "training.alarm.missing.said": "{value} of the rewards are missing",
    "training.alarm.saturation.proposition.said": "{subject} is {value} true, {was} before: it "
    "tells no responses apart",
    "training.alarm.saturation.groups.said": "{value} of the groups have rewards that are all "
    "equal",
    "training.alarm.drift.said": "the mean probability of {subject} is {value}, {was} in the "
    "reference run",
    "training.alarm.length.longer.said": "responses have a mean length of {value}, {was} before",
    "training.alarm.length.paid.said": "length and reward correlate by {value}",
    "training.alarm.spread.said": "the standard deviation of the rewards is {value}, {was} in the "
    "beginning",
    "training.alarm.nonsense.frequent.said": "{value} of the responses are nonsense, {was} before",
    "training.alarm.nonsense.paid.said": "nonsense gets {value} more reward than the other "
    "responses to its prompt",
    "training.alarm.missing.do": "The files <code>completions/*.parquet</code> in <code>{run}"
    "</code> say why, under <code>missing</code>. Calls that are late need a longer deadline, "
    "fewer calls at once, or a local judge in front; calls that fail need their service mended.",
    "training.alarm.saturation.do": "What every response has, no response is paid for. Read "
    "responses of the last steps (<code>voirdire sample {run} -o sample</code>). Where they are "
    "good, the rule has done its work: stop, or take harder prompts. Where they only look good to "
    "the judge, have people label the sample, and examine the judge on it.",
    "training.alarm.drift.do": "Either the responses changed, or the judge answers otherwise about "
    "what the model writes now. Have people label a sample (<code>voirdire sample {run} -o "
    "sample</code>), and examine the judge on it before you believe the reward.",
    "training.alarm.length.do": "Read the longest responses of a sample (<code>voirdire sample "
    "{run} -o sample</code>), and have people label it. If they earn more than people think they "
    "deserve, give length a price in the base reward, or take another judge.",
    "training.alarm.spread.do": "The responses are paid nearly alike. Read some (<code>voirdire "
    "sample {run} -o sample</code>). Sample at a higher temperature, take harder prompts, or fit "
    "new weights on comparisons between the model’s own responses (<code>voirdire fit</code>).",
    "training.alarm.nonsense.do": "Read what the rules take for nonsense: responses that are "
    "empty, that repeat themselves or the prompt, or that string stock phrases together "
    "(<code>voirdire sample {run} -o sample</code>). If they are nonsense, stop: the policy learns "
    "them. Add them to the comparisons as the worst of their prompts and fit anew (<code>voirdire "
    "fit</code>), or take another judge; <code>voirdire examine-reward</code> says which nonsense "
    "outranks real responses.",
}
_CAUTION = {
    "training.caution.title": "The judge was examined on other texts than these, if at all",
    "training.caution": "A certificate says that a judge may stand in for people on the "
    "completions of its examination. A model in training writes others, and it is paid for what "
    "its judge likes: a reward that rises is no evidence that people would agree. Draw a sample of "
    "this run, have people fill its sheets, and examine the judge on them:",
}
PHRASES: dict[str, str] = _PAGE | _STORY | _ALARMS | _CAUTION
