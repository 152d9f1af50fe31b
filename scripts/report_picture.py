"""Make docs/images/report.png: the top of the demonstration's report, as a browser shows it.

Needs Chromium, and the packages of the group `test`. `CHROMIUM` names the browser's program.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from voirdire.reporting import html_report

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
WIDTH, HEIGHT, COLOURS = 1120, 1240, 64
MOST_BYTES = 200_000
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-color-profile=srgb",
]


def main() -> None:
    """Render the report of the demonstration in a folder, and keep its top as a picture."""
    folder_made = Path(sys.argv[1])
    content = json.loads((folder_made / "examination.json").read_text(encoding="utf-8"))
    reward = (folder_made / "reward_examination.json").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(html_report(content, reward=reward), encoding="utf-8")
        picture = photographed(page)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS)
    small.save(PICTURE, optimize=True)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {size / 1000:.0f} kB")
    if size > MOST_BYTES:
        sys.exit(f"must be smaller than {MOST_BYTES / 1000:.0f} kB")


def photographed(page: Path) -> bytes:
    """Show a page in Chromium and take its top."""
    browser = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=OPTIONS)
        sheet = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        sheet.goto(page.as_uri())
        picture = sheet.screenshot()
        chromium.close()
    return picture


if __name__ == "__main__":
    if len(sys.argv) != 2:  # the program and one folder
        sys.exit("usage: report_picture.py voirdire-demo")
    main()
