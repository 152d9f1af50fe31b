"""Make docs/images/grpo-curve.svg: models that learn from a reward, and controls that do not.

Trains the tiny models of tests/adapters/trl_harness.py with TRL, three with the reward and fifteen
with rewards permuted within the batch; one core needs a minute. Needs the group `frameworks`.
"""

from __future__ import annotations

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
from voirdire.reporting.plots import to_svg  # noqa: E402
from voirdire.reporting.plots.frame import (  # noqa: E402
    Frame,
    Panel,
    draw_chart,
    set_scale,
)
from voirdire.reporting.plots.style import DARK, LIGHT, choose_series_colour  # noqa: E402
from voirdire.reporting.plots.words import Words  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

PICTURE = ROOT / "docs" / "images" / "grpo-curve.svg"
SEEDS = (0, 1, 2)
N_CONTROLS = 5
MOST_BYTES = 150_000
PAD_PX = 16.0
BAND: dict[str, Any] = {"facecolor": LIGHT["series-8"], "alpha": 0.2, "linewidth": 0}
ALT = (
    "Mean reward of a batch over 60 steps. Three models that get the reward rise from about 0 to "
    "about 5; fifteen that get permuted rewards stay near where they began."
)


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
    """Draw the curves as a file of its own, which follows the reader's light or dark."""
    frame = Frame(say=Words("en"))
    steps = np.arange(1, curves.learned.shape[1] + 1)
    low, high = (float(end(curves_of(curves))) for end in (np.min, np.max))

    def draw(axes: Axes) -> None:
        set_scale(axes.xaxis, 0, float(steps[-1]), frame.say, pad=1, grid=False)
        set_scale(axes.yaxis, low, high, frame.say, pad=0.2)
        lows, highs = curves.controls.min(axis=0), curves.controls.max(axis=0)
        axes.fill_between(steps, lows, highs, zorder=1.8, gid="controls", **BAND)
        for place, values in enumerate(curves.learned):
            style: Any = {"color": choose_series_colour(place), "linewidth": 2.2, "zorder": 3}
            axes.plot(steps, values, gid=f"seed-{place}", **style)

    figure = draw_chart(
        frame,
        heading="A tiny model learns to refuse with GRPO",
        alt=ALT,
        panels=[
            Panel(draw=draw, height=300.0, x_title="step", y_title="mean reward of 32 completions")
        ],
        key=[
            *(
                (f"seed {seed}", {"color": choose_series_colour(place), "linewidth": 2.2})
                for place, seed in enumerate(SEEDS)
            ),
            ("controls: rewards permuted within the batch, range of 15 runs", BAND),
        ],
    )
    return standing_alone(to_svg(figure, name="grpo"))


def curves_of(curves: Curves) -> NDArray[np.float64]:
    """Put all runs together."""
    return np.concatenate([curves.learned, curves.controls])


def standing_alone(svg: str) -> str:
    """Give an SVG, made for the middle of a page, its colours and the paper under it."""
    rules = [
        "svg{" + "".join(f"--{role}:{colour};" for role, colour in LIGHT.items()) + "}",
        "@media (prefers-color-scheme:dark){svg{"
        + "".join(f"--{role}:{colour};" for role, colour in DARK.items())
        + "}}",
    ]
    seen = svg.split('viewBox="', 1)[1].split('"', 1)[0]
    left, top, width, height = (float(number) for number in seen.split())
    left, top, width, height = left - PAD_PX, top - PAD_PX, width + 2 * PAD_PX, height + 2 * PAD_PX
    svg = svg.replace(f'viewBox="{seen}"', f'viewBox="{left:g} {top:g} {width:g} {height:g}"', 1)
    box = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}"'
    opening, rest = svg.split(">", 1)
    return (
        f'{opening}><style>{"".join(rules)}</style><rect {box} style="fill:var(--paper)"/>{rest}\n'
    )


if __name__ == "__main__":
    main()
