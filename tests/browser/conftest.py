"""A real browser, which opens pages and notes whatever they do."""

import importlib
import os
import shutil

import pytest

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]


def browser_path():
    """Find a browser: the one that is named, or the system's."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def chromium():
    path = browser_path()
    if path is None:
        leave = pytest.fail if os.environ.get("CI") else pytest.skip
        leave("no Chromium on this machine: set CHROMIUM to its path")
    playwright = importlib.import_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Open pages, and note whatever they do."""
    pages = []

    def open_page(path, *, width=1280, scheme="light"):
        page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(page)
        done = {"requests": [], "messages": [], "dialogs": []}
        page.on("request", lambda request: done["requests"].append(request.url))
        page.on("console", lambda message: done["messages"].append(message.text))
        page.on("pageerror", lambda error: done["messages"].append(str(error)))
        page.on("dialog", lambda dialog: (done["dialogs"].append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        return page, done

    yield open_page
    for page in pages:
        page.close()
