"""A headless Chromium, and what tests ask of a page in it."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from installed import BROWSERS, DRIVER, found, found_driver
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Browser:
    """One tab."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(
        self, page: Path | str, *, width: int = 1400, height: int = 1000, scheme: str = "light"
    ) -> None:
        """The page from disk, in a window of that size and a colour scheme."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.resize(width, height)
        self.driver.get("about:blank")
        self.logged()
        self.requested()
        self.driver.get(Path(page).as_uri() if isinstance(page, Path) else page)

    def resize(self, width: int, height: int) -> None:
        """The size of what is seen."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def run(self, script: str, *values: object) -> object:
        """What the script returns."""
        return self.driver.execute_script(script, *values)

    def after_frames(self, expression: str) -> object:
        """What the expression is once the page has drawn what it was told to."""
        return self.driver.execute_async_script(
            "const done = arguments[0];"
            f"requestAnimationFrame(() => requestAnimationFrame(() => done({expression})));"
        )

    def text(self, selector: str) -> str:
        """The visible text of one element."""
        return str(self.driver.find_element(By.CSS_SELECTOR, selector).text)

    def press(self, *keys: str) -> None:
        """Keys, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)
        self.after_frames("0")

    def press_tab(self, times: int = 1) -> None:
        """On to the next element that takes the focus."""
        self.press(*[Keys.TAB] * times)

    def focused(self) -> str:
        """The id of what has the focus, or else its tag."""
        return str(self.run("const e = document.activeElement; return e.id || e.localName"))

    def logged(self) -> list[str]:
        """What was written to the console since the last call."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]

    def requested(self) -> list[str]:
        """The addresses asked for since the last call, but for those that the page forbade."""
        log = self.driver.get_log("performance")
        events = [json.loads(entry["message"])["message"] for entry in log]
        stopped = {
            event["params"]["requestId"]
            for event in events
            if event["method"] == "Network.loadingFailed"
            and event["params"].get("blockedReason") == "csp"
        }
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
            and event["params"]["requestId"] not in stopped
        ]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(
            str(
                self.run("const e = document.documentElement; return e.scrollWidth - e.clientWidth")
            )
        )

    def colours(self) -> tuple[int, float]:
        """How many colours the window shows, and how bright it is on average, 0 to 255."""
        picture = self.driver.get_screenshot_as_base64()
        self.driver.switch_to.new_window("tab")
        try:
            self.driver.get("about:blank")
            count, light = self.driver.execute_async_script(_COLOURS, picture)  # type: ignore[misc]
        finally:
            self.driver.close()
            self.driver.switch_to.window(self.driver.window_handles[0])
        return int(count), float(light)

    def names_and_roles(self) -> list[tuple[str, str]]:
        """Role and accessible name of everything that a screen reader meets."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        return [
            (node["role"]["value"], str(node.get("name", {}).get("value", "")))
            for node in tree["nodes"]
            if not node.get("ignored") and "role" in node
        ]

    def printed(self) -> bytes:
        """The page as PDF."""
        done = self.driver.execute_cdp_cmd("Page.printToPDF", {})
        return base64.b64decode(done["data"])


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own; a machine without one fails the test and is told what to install."""
    options = webdriver.ChromeOptions()
    options.binary_location = _needed(found(BROWSERS), "Chrome")
    service = Service(executable_path=_needed(found_driver(), DRIVER))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield Browser(driver)
        finally:
            driver.quit()


def _needed(program: str | None, name: str) -> str:
    if program is None:
        pytest.fail(
            f"there is no {name} here, so the HTML report can't be checked; install the Debian "
            "packages chromium and chromium-driver, as .ci/run does",
            pytrace=False,
        )
    return program


_COLOURS = """
const [picture, done] = arguments;
const image = new Image();
image.onload = () => {
  const canvas = document.createElement("canvas");
  canvas.width = image.width; canvas.height = image.height;
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const data = pen.getImageData(0, 0, image.width, image.height).data;
  const seen = new Set();
  let light = 0;
  for (let at = 0; at < data.length; at += 4) {
    seen.add(data[at] * 65536 + data[at + 1] * 256 + data[at + 2]);
    light += (data[at] + data[at + 1] + data[at + 2]) / 3;
  }
  done([seen.size, light / (data.length / 4)]);
};
image.src = "data:image/png;base64," + picture;
"""
