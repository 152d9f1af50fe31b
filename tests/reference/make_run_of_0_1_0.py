"""Makes run_of_0_1_0: a training run as voirdire 0.1.0 wrote it, and the figures it read from it.

Run it from the sources of 0.1.0 (commit c4daa6f), with ``src`` and ``tests`` on the path.
Two ranks, begun again from step 1 by one rank; a cascade; missing rewards; messages; base rewards.
Do not edit what it wrote.
"""

import json
import os
import socket
from dataclasses import asdict
from pathlib import Path

import numpy as np
from voirdire.rewards.training.lines import without_nan

from judging.cascade.cascade_cases import Cascades
from rewards.training.recorded_runs import scored, watch_of
from voirdire.errors import RefusalError
from voirdire.rewards import Turn, read_training_run

HERE = Path(__file__).parent / "run_of_0_1_0"


def turns_of(rng, step, behavior):
    """Draw a few completions of one prompt of each kind."""
    found = []
    for _ in range(3):
        pair = [rng.choice((0.01, 0.98)) if rng.random() < 0.5 else rng.random() for _ in "ab"]
        text = f"{pair[0]:.3f} {pair[1]:.3f}" + (" bad" if rng.random() < 0.15 else "")
        response = text
        prompt = f"prompt {step} {behavior}"
        if behavior == "chat":
            prompt = [{"role": "user", "content": prompt}]
            response = [{"role": "assistant", "content": text}]
        found.append(
            Turn(
                response=response,
                prompt=prompt,
                behavior=behavior,
                n_tokens=int(rng.integers(5, 50)),
                base_reward=round(float(rng.random()), 3) if behavior == "chat" else None,
            )
        )
    return found


def main():
    """Write the folder, and beside it what is read from it."""
    cascades = Cascades()
    answers = cascades.says
    cascades.says = lambda said: RefusalError("no") if said.endswith("bad") else answers(said)
    rng = np.random.default_rng(7)
    socket.gethostname = lambda: "trainer"
    folder = HERE / "run"
    for world, steps in ((2, range(3)), (1, range(1, 4))):
        watches = []
        for rank in range(world):
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world)}
            watches.append(watch_of(folder))
            for step in steps:
                for behavior in ("refuse", "chat"):
                    turns = turns_of(rng, step, behavior)
                    if (rank, step) == (1, 1):
                        turns[0] = Turn(response=None, behavior=behavior, n_tokens=3)
                    watches[-1].add(scored(turns, judge=cascades.cascade()), turns, step=step)
        for watch in watches:
            watch.close()
    run = read_training_run(folder)
    figures = {
        "steps": [asdict(step) for step in run.steps],
        "alarms": [asdict(alarm) for alarm in run.alarms],
        "length_unit": run.length_unit,
        "n_writers": run.n_writers,
        "fingerprint": run.fingerprint,
    }
    text = json.dumps(without_nan(figures), indent=1, ensure_ascii=False)
    (HERE / "figures.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
