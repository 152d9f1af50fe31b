"""Make docs/images/grpo-curve.svg: models that learn from a reward, and controls that do not.

Trains the tiny models of tests/adapters/trl_harness.py with TRL, three with the reward and fifteen
with rewards permuted within the batch; one core needs a minute. Needs the group `frameworks`.
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from adapters.trl_harness import PermutedReward, refusal_reward, train  # noqa: E402
from voirdire.adapters.trl import TrlReward  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

PICTURE = ROOT / "docs" / "images" / "grpo-curve.svg"
SEEDS = (0, 1, 2)
N_CONTROLS = 5
MOST_BYTES = 150_000


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Mean rewards, runs by steps."""

    learned: NDArray[np.float64]
    controls: NDArray[np.float64]


def main() -> None:
    """Train, draw, and tell the figures that the guide quotes."""
    curves = trained()
    drawn = picture(curves)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(drawn, encoding="utf-8")
    tell(curves)
    print(f"{PICTURE.relative_to(ROOT)}: {len(drawn) / 1000:.0f} kB")
    if len(drawn) > MOST_BYTES:
        sys.exit(f"must be smaller than {MOST_BYTES / 1000:.0f} kB")


def trained() -> Curves:
    """Train all models."""
    learned = [curve(seed) for seed in SEEDS]
    controls = [curve(seed, control=control) for seed in SEEDS for control in range(N_CONTROLS)]
    return Curves(learned=np.array(learned), controls=np.array(controls))


def curve(seed: int, *, control: int | None = None) -> NDArray[np.float64]:
    """Train one model, and give the mean reward of each of its steps."""
    reward = TrlReward(refusal_reward(), name="refusal")
    paid: Any = reward if control is None else PermutedReward(reward, seed=1000 + control)
    with tempfile.TemporaryDirectory() as folder:
        found = train(paid, folder, seed=seed).curve
    reward.close()
    return np.asarray(found)


def tell(curves: Curves) -> None:
    """Print how much the last ten steps earned more than the first ten, run by run."""

    def gains(runs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(runs[:, -10:].mean(axis=1) - runs[:, :10].mean(axis=1))

    controls = gains(curves.controls).reshape(len(SEEDS), N_CONTROLS)
    for seed, gain, others in zip(SEEDS, gains(curves.learned), controls, strict=True):
        spread = others.std(ddof=1)
        print(f"seed {seed}: gain {gain:.2f}, controls {others.mean():.2f} ± {spread:.2f}")


def picture(curves: Curves) -> str:
    """Draw the curves on white."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    steps = np.arange(1, curves.learned.shape[1] + 1)
    lows, highs = curves.controls.min(axis=0), curves.controls.max(axis=0)
    label = "controls: rewards permuted within the batch, range of 15 runs"
    axes.fill_between(steps, lows, highs, color="0.85", label=label)
    for seed, values in zip(SEEDS, curves.learned, strict=True):
        axes.plot(steps, values, label=f"seed {seed}")
    axes.set_title("A tiny model learns to refuse with GRPO")
    axes.set_xlabel("step")
    axes.set_ylabel("mean reward of 32 completions")
    axes.legend(frameon=False)
    drawn = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "voirdire", "svg.fonttype": "none"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


if __name__ == "__main__":
    main()
