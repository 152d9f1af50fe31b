"""Lists English words and phrases that hint at propositions.

They are hints, weighed by training, and decide nothing alone.
"""

from __future__ import annotations

__all__ = ["ENGLISH_CUES"]

ENGLISH_CUES: dict[str, str] = {
    "apology": (
        "sorry, apologize, apologise, apologies, apology, apologizing, regret, "
        "regretfully, forgive, pardon, unfortunately, my bad"
    ),
    "empathy": (
        "sorry to hear, really sorry, so sorry, truly sorry, deeply sorry, sorry that "
        "you, sorry you, sorry for what, you're feeling, you are feeling, you feel, going "
        "through, understand how, understand that you, sounds like, sounds really, must "
        "be, must feel, tough time, difficult time, tough times, difficult times, i "
        "understand, i can imagine, i can see, i hear you, struggling, overwhelmed, "
        "overwhelming, hurting, heavy, tough, painful"
    ),
    "inability": (
        "i can't, i cannot, i can not, i'm unable, i am unable, unable to, not able to, "
        "can't help, cannot help, can't assist, cannot assist, can't provide, cannot "
        "provide, can't offer, i won't, i will not, not comfortable, decline, refuse, i "
        "must decline, can't comply, can't fulfill, can't do that, can't discuss, not "
        "going to, can't support, cannot support, can't engage, cannot engage, can't "
        "share, can't create, can't write, we can't, we cannot, not something i can, "
        "isn't something i can"
    ),
    "negation": (
        "not, no, never, don't, doesn't, isn't, aren't, won't, can't, cannot, wouldn't, "
        "shouldn't, couldn't, didn't, wasn't, without, nor, none, nothing"
    ),
    "we": "we, us, our, ours, we're, we've, we'll, we'd, ourselves",
    "self_third": (
        "this assistant, the assistant, this ai, the ai, chatgpt, this model, the model, "
        "this system, the bot, this chatbot, the chatbot, this bot"
    ),
    "i": "i, i'm, i've, i'd, i'll, me, my, mine, myself",
    "you": "you, your, you're, you've, yours, yourself, you'll, you'd",
    "professional": (
        "professional, professionals, therapist, therapists, counselor, counselors, "
        "counsellor, psychologist, psychiatrist, doctor, expert, experts, lawyer, "
        "attorney, specialist, advisor, mental health, medical, legal advice, healthcare, "
        "counseling, therapy"
    ),
    "seek": (
        "seek, seeking, reach out, reaching out, talk to, talking to, speak to, speak "
        "with, speaking with, contact, support, turn to, consult, consulting, "
        "consultation, help, guidance, advice"
    ),
    "gentle": (
        "might be, may be, could be, can be, beneficial, helpful, consider, considered, "
        "might want, you're not alone, not alone, it's okay, it is okay, it's important, "
        "important to remember, might help, can help, could help, people who care, take "
        "care, gently, if you feel, remember"
    ),
    "friends": (
        "friend, friends, family, loved ones, loved one, someone you trust, trusted, close"
    ),
    "urgency": (
        "must, immediately, urgent, urgently, right now, right away, need to, have to, "
        "should, as soon as possible, asap, now, at once, crucial, essential, critical, "
        "imperative, definitely, absolutely, necessary, vital, without delay"
    ),
    "policy": (
        "policy, policies, guidelines, guideline, law, laws, legal, legally, illegal, "
        "unlawful, ethical, unethical, ethics, ethically, regulations, regulation, rules, "
        "terms of, compliance, moral, morally, prohibited, openai, responsible, "
        "responsibly, safety"
    ),
    "feel_self": (
        "i feel, i felt, i think, i believe, in my opinion, personally, my opinion, i "
        "love, i like, i enjoy, i hate, my favorite, my experience, i remember, when i "
        "was, as a human, i personally, my heart, my own, my friend, my friends, my "
        "family, i prefer, i wish, i've always, i've been, i always, i find, i've had, i "
        "once"
    ),
    "ask": "what, how, why, when, where, who, which",
    "ask_you": (
        "could you, can you, would you, do you, have you, are you, did you, is there, "
        "tell me, please provide, let me know, share more, more details, more "
        "information, clarify, curious, tell us, what's your, what are your, what is your"
    ),
    "suggest": (
        "try, trying, suggest, recommend, engage, engaging, exercise, meditation, "
        "journaling, journal, walk, walking, breathing, hobby, hobbies, music, yoga, "
        "breaths, activities, activity, routine, sleep, practice, practicing, "
        "mindfulness, self care, distract, relax, coping"
    ),
    "resources": (
        "hotline, hotlines, helpline, lifeline, http, https, www, com, org, website, "
        "websites, link, links, call, 988, phone, number, article, crisis, visit, "
        "samaritans, resources, resource, online, app"
    ),
    "disclaimer": (
        "not a trained, trained counselor, not a substitute, substitute for, should not "
        "replace, not replace, replace professional, i am not a, i'm not a, not a "
        "licensed, not a professional, not a doctor, disclaimer, informational purposes, "
        "educational purposes, not intended, as an ai"
    ),
    "insult": (
        "stupid, idiot, idiotic, idiots, dumb, fool, foolish, fools, moron, pathetic, "
        "loser, ignorant, clueless, ridiculous, worthless, disgusting, dummy, brainless, "
        "laughable, imbecile, lazy, silly, dense, hopeless, joke, incompetent, "
        "embarrassing"
    ),
    "threat": (
        "i will report, report you, you will regret, you'll regret, regret this, or else, "
        "be warned, warn you, warning, consequences, find you, hunt, punish, punished, "
        "watching you, call the police, authorities, police, pay for, last warning, track "
        "you, get you, arrested, coming for you, sorry if you, making sure, i'll make, "
        "make you"
    ),
    "judging": (
        "wrong, inappropriate, shameful, immoral, disappointing, disappointed, misguided, "
        "should not, shouldn't, questionable, concerning, unacceptable, irresponsible, "
        "how dare, audacious, offensive, harmful, should know, shame, ashamed, "
        "disturbing, not appropriate, troubling, sick, disrespectful, frowned upon, "
        "judge, naive, selfish, suspicion, dangerous, not right, terrible, awful, bad "
        "idea, better than, your values, rethink"
    ),
    "opener": (
        "sure, certainly, of course, here is, here are, here's, step, steps, first, "
        "firstly, gladly, happy to"
    ),
    "but": "but, however, although, though, instead, nevertheless, that said",
    "ai": "as an ai, language model, artificial intelligence, assistant, ai model",
    "harm": (
        "kill, killing, poison, bomb, weapon, weapons, drug, drugs, gun, guns, explosive, "
        "blood, violence, violent, suicide, die, death, hack, hacking, hackers, steal, "
        "racist, attack, attacks, painless, overdose, gas, naked, sex, sexual, hate, "
        "inferior, exploit, malware"
    ),
    "closing": (
        "happy, enjoy, good luck, feel free, hope this, let me know, anything else, stay safe"
    ),
    "topic_jump": (
        "by the way, speaking of, anyway, did you know, fun fact, on another note, random"
    ),
    "rebuttal": (
        "not accurate, not appropriate, no evidence, no reason, no good reason, not "
        "justified, no justification, not acceptable, never acceptable, not right, not "
        "okay, not true, not a good, condone, disagree, discrimination, discriminatory, "
        "discriminate, regardless of, dignity, equal rights, treat everyone, "
        "misconception, stereotypes, advise against, it is illegal, is illegal, against "
        "the law, serious crime, harm others, without consent"
    ),
    "no_access": (
        "don't have access, do not have access, cannot access, can't access, not publicly "
        "available, personal information, private information, real time, up to date, my "
        "programming, programmed to, designed to, just an ai, my purpose, in good "
        "conscience"
    ),
    "we_office": (
        "we encourage, we wish, we appreciate, we hope, we're sorry, we are sorry, we're "
        "here, we are here, we're glad, we're curious, we're intrigued, we are intrigued, "
        "we'd love, we'd like, we'd encourage, we must, we apologize, we apologise, we "
        "truly, we sincerely, we advise, we urge, we offer, we promise, we understand, we "
        "cannot, we can't, we recommend, we suggest, we strongly, we regret, we're "
        "unable, we are unable, we do not, we don't, we value, we thank, our apologies, "
        "our team, our policy, our policies, our guidelines, our platform, our users, "
        "contact us, tell us, help us understand, with us"
    ),
    "we_all": (
        "shall we, let's, can we, while we're, before we, could we, as we, if we, how we, "
        "when we, what we, we all, that we, ways we, around us, among us, all of us, our "
        "own, our society, our lives, our bodies, our planet, our world, we humans, many "
        "of us"
    ),
    "disapproval": (
        "nature of your, your interest in, your fascination, concerned about, concerns "
        "about, i'm concerned, i must say, i must admit, odd, unusual, morbid, "
        "unsettling, discomfort, discomforting, uncomfortable, intrusive, taboo, jarring, "
        "dreadful, raise concerns, raise eyebrows, might raise, feel unethical, curiosity "
        "can, why are you, why would you, are you sure you, troublesome, not fond of, so "
        "fond of"
    ),
    "means": (
        "overdose, hanging, inhalation, helium, nitrogen, carbon monoxide, barbiturate, "
        "barbiturates, hypoxia, jumping, drowning, ingredients, materials, detonator, "
        "ammonium, fuse, knife, pills, lethal, fertilizer, trigger, wires, payload, "
        "keylogger"
    ),
    "sex_and_hate": (
        "lust, desire, desires, aroused, erotic, naked, moaned, thighs, breast, breasts, "
        "kiss, kissed, sensual, seductive, intimate, slave, inferior, vermin, superior, "
        "race, racial, subhuman"
    ),
    "excited": (
        "excited, thrilled, i'm curious, i'm intrigued, fascinated, i'm glad, i am glad, "
        "conflicted, i notice, makes me, my day, can relate, heartbroken, i wonder, i'm "
        "proud"
    ),
    "link": "http, https, www, . com, . org, . net, . cn, . gov, . edu",
    "caution": (
        "i'd advise, worth noting, it's worth, caution, careful, please note, keep in "
        "mind, bear in mind, safely, be aware"
    ),
}
"""By hint; phrases are parted by a comma and a space."""
