"""Make docs/images/training-report.png: the top of the page of a model that learned with GRPO.

Trains the tiny model of tests/adapters/trl_harness.py twice with TRL, the second time with the
first as its reference run. Needs the groups `frameworks` and `test`, and Chromium; `CHROMIUM` names
the browser's program.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from report_picture import photographed  # noqa: E402

from adapters.trl_harness import refusal_reward, train  # noqa: E402
from voirdire.adapters.trl import TrlReward  # noqa: E402
from voirdire.reporting.pages.training import training_report  # noqa: E402
from voirdire.rewards.training.run_reading import read_training_run  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "training-report.png"
COLOURS = 64
MOST_BYTES = 120_000


def main() -> None:
    """Train, write the page, and keep its top as a picture."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        trained(place / "runs" / "first", seed=0)
        trained(place / "runs" / "second", seed=1, reference=place / "runs" / "first")
        run = read_training_run(place / "runs" / "second")
        page = place / "report.html"
        page.write_text(training_report(run, source="runs/second"), encoding="utf-8")
        picture = photographed(page, width=1120, height=1240)
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS)
    small.save(PICTURE, optimize=True)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {size / 1000:.0f} kB")
    if size > MOST_BYTES:
        sys.exit(f"must be smaller than {MOST_BYTES / 1000:.0f} kB")


def trained(record: Path, *, seed: int, reference: Path | None = None) -> None:
    """Train one model, and have its reward write the run down."""
    reward = TrlReward(refusal_reward(), name="refusal", record=record, reference=reference)
    with tempfile.TemporaryDirectory() as folder:
        train(reward, folder, seed=seed)
    reward.close()


if __name__ == "__main__":
    main()
