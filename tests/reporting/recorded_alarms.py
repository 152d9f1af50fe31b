"""A recorded run whose policy learns nonsense that is paid for, and whose calls fail at last."""

import numpy as np

from rewards.reward_cases import tiny_reward
from rewards.training.recorded_runs import scored, watch_of
from voirdire.judging import ScriptedJudge
from voirdire.rewards import Turn

HOSTILE = "<script>alert(1)</script> </details> {{7*7}} \x1b[31m"
N_STEPS, BAD_FROM, LOST_FROM = 60, 25, 50


def last_words(item):
    """Answer with the last two words of the response; other words are a failure."""
    return [float(word) for word in item.response.split()[-2:]]


def bad_run(folder, *, n_steps=N_STEPS):
    """Record 12 refusals and 4 chats a step; nonsense is paid for from step 25 on."""
    rng = np.random.default_rng(0)
    watch = watch_of(folder)
    judge = ScriptedJudge(questions=("sorry", "rude"), answer=last_words)
    for step in range(n_steps):
        turns = [_turn(rng, step, place) for place in range(16)]
        watch.add(scored(turns, reward=tiny_reward(), judge=judge), turns, step=step)
    watch.close()
    return folder


def _turn(rng, step, place):
    said = f"{rng.uniform(0.2, 0.6):.3f} {rng.uniform(0.2, 0.4):.3f}"
    words = f"I am afraid that request {step} of kind {place} is beyond me."
    is_bad = step >= BAD_FROM and place % 2
    if is_bad:
        words, said = f"sorry {place % 4} " * (12 + step % 7), f"0.{90 + step % 10} 0.01"
    if step >= LOST_FROM and place % 4 == 0:
        said = "no answer"
    prompt = f"Question {place // 4}: how is it done? {HOSTILE if place == 1 else ''}"
    return Turn(prompt=prompt, response=f"{words} {said}", n_tokens=len(words.split()) + 2,
                behavior="chat" if place // 4 == 3 else "refuse")  # fmt: skip
