"""A real browser for pages that we write: Chromium without a window, driven by Selenium.

The fixture ``browser`` (``tests/conftest.py``) is one for all tests of a session. With ``--pictures`` the
tests of pages also write the pictures of the documentation.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.machine import needs_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

__all__ = ["colours", "complaints", "open_page", "start_browser", "take_pictures"]

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--force-device-scale-factor=1",
    "--window-size=1200,900",
)


@contextmanager
def start_browser(profile: Path) -> Iterator[Chrome]:
    """Chromium with a profile of its own; nothing is fetched to find it."""
    from selenium import webdriver

    program, driver = needs_browser()
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    # A signal ends it at once, this sometimes in half a minute.
    service.send_remote_shutdown_command = lambda: None  # type: ignore[method-assign]
    found = webdriver.Chrome(options=options, service=service)
    try:
        yield found
    finally:
        found.quit()


def open_page(browser: Chrome, page: Path | str) -> None:
    """Open a file or an address, with an empty console and in light colours."""
    browser.get("about:blank")
    _console(browser)  # what earlier pages said
    colours(browser, "light")
    browser.get(page.absolute().as_uri() if isinstance(page, Path) else page)


def take_pictures(browser: Chrome, path: Path) -> list[Path]:
    """Pictures of the page that is open, as a laptop and a telephone show it: NAME-1366.png and NAME-390.png.

    Nothing of the page may be out of sight at either width, but for what scrolls in a place of its own.
    """
    from PIL import Image

    written = []
    for width, height in ((1366, 900), (390, 844)):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        written.append(path.with_name(f"{path.name}-{width}.png"))
        with Image.open(io.BytesIO(browser.get_screenshot_as_png())) as seen:
            seen.convert("RGB").quantize(64).save(written[-1], optimize=True)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    return written


def colours(browser: Chrome, scheme: str) -> None:
    """What the person prefers: ``light`` or ``dark``."""
    preferred = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})


def complaints(browser: Chrome) -> list[str]:
    """Errors and warnings in the console since the page was opened."""
    return [line["message"] for line in _console(browser) if line["level"] in ("SEVERE", "WARNING")]


def _console(browser: Chrome) -> list[dict[str, str]]:
    lines: list[dict[str, str]] = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return lines
