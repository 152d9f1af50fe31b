"""Make docs/images/report.png: the page of the README's examination, as a browser shows it.

Needs Chromium, and the packages of the group `test`. `CHROMIUM` names the browser's program.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from voirdire.reporting import from_json, html_page

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
WIDTH, HEIGHT, COLOURS = 1280, 786, 64
COMMAND = [
    *(sys.executable, "-m", "voirdire", "examine", "--humans", str(ROOT / "docs" / "labels.csv")),
    *("--kind", "boolean", "--epsilon", "0.15", "--json"),
    *("--judge-column", "careful", "--judge-column", "lenient", "--judge-column", "constant"),
]
MOST_BYTES = 200_000
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-color-profile=srgb",
]


def main() -> None:
    """Examine the judges of the README, and keep the first screen of the page as a picture."""
    done = subprocess.run(COMMAND, stdout=subprocess.PIPE, check=True)  # noqa: S603  # our own
    content = json.loads(done.stdout)
    content["settings"]["simulated"] = True
    examination = from_json(content)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(html_page(examination), encoding="utf-8")
        picture = photographed(page, width=WIDTH, height=HEIGHT)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS)
    small.save(PICTURE, optimize=True)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {size / 1000:.0f} kB")
    if size > MOST_BYTES:
        sys.exit(f"must be smaller than {MOST_BYTES / 1000:.0f} kB")


def photographed(page: Path, *, width: int, height: int) -> bytes:
    """Show a page in Chromium and take its top."""
    browser = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=OPTIONS)
        sheet = chromium.new_page(viewport={"width": width, "height": height})
        sheet.goto(page.as_uri())
        picture = sheet.screenshot()
        chromium.close()
    return picture


if __name__ == "__main__":
    main()
