"""Draw the pages of the dashboard over made-up sessions: `python docs/pages.py`, with Chromium.

Writes `images/sessions.png`, `day.png`, `overall.png` and `session.png`.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from brimline.testing import SessionBuilder

IMAGES = Path(__file__).parent / "images"
OPTIONS = "--headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars"
WIDTH = 1_280
HEIGHTS = {"sessions": 760, "day": 620, "overall": 1_180, "session": 1_180}
SESSIONS, DAYS, BRIM = 42, 28, 165_000
TOOLS = (("Read", "file_path"), ("Bash", "command"), ("Grep", "pattern"), ("Edit", "file_path"))
MODELS = ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")
PROJECTS = ("importer", "website", "billing", "infra")
TASKS = (
    "Make the import twice as fast",
    "Why does the nightly job fail on Mondays?",
    "Add a filter for archived orders",
    "Move the settings page to the new layout",
    "Find out where the memory goes",
    "Write the release notes",
    "Replace the old queue by the new one",
    "Let the report name the slowest queries",
)
_WAIT_S = 60


def main() -> None:
    """Make the sessions, show them, take the pictures."""
    with tempfile.TemporaryDirectory() as home:
        names = [write_session(Path(home), number) for number in range(SESSIONS)]
        own = {"HOME": home, "CLAUDE_CONFIG_DIR": f"{home}/.claude"}
        own |= {"BRIMLINE_HOME": f"{home}/brimline"}
        environment = own | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        command = [sys.executable, "-m", "brimline", "dashboard", "--no-open", "--json"]
        place = Path(home) / "work"  # no project is where the data lies
        place.mkdir()
        with subprocess.Popen(
            command, env=environment, cwd=place, stdout=subprocess.PIPE
        ) as server:
            try:
                lines = iter(server.stdout.readline, b"}\n") if server.stdout else ()
                answer = b"".join(itertools.takewhile(bool, lines)) + b"}"
                take_pictures(json.loads(answer)["url"], names[0])
            finally:
                server.terminate()


def write_session(home: Path, number: int) -> str:
    """One session of the last days; the first fills its window and is compacted."""
    chance = random.Random(number)  # noqa: S311 - the same picture every time
    name, project = str(uuid.UUID(int=chance.getrandbits(128))), chance.choice(PROJECTS)
    folder = home / ".claude" / "projects" / f"-home-dev-{project}"
    folder.mkdir(parents=True, exist_ok=True)
    session = SessionBuilder(str(folder / f"{name}.jsonl"), name, f"/home/dev/{project}")
    session.model = MODELS[0] if not number else chance.choice(MODELS)
    session.version = "2.1.42"  # it compacts by itself
    session.counter = number * 10_000  # no two have replies of the same name
    session.now = time.time() - 3_600 - number * DAYS * 86_400 / SESSIONS
    session.prompt(TASKS[number % len(TASKS)])
    tokens = 22_000
    for step in range(95 if not number else chance.randint(8, 40)):
        tool, about = chance.choice(TOOLS)
        is_file = about == "file_path"
        subject = f"/home/dev/{project}/src/part_{step % 9}.py" if is_file else f"check {step}"
        size = chance.randint(400, 14_000)
        session.tool_result(session.tool_call(tokens, tool, **{about: subject}), "line\n" * size)
        tokens += size // 4 + 400
        if tokens > BRIM:
            session.compact(tokens, summary="What was done and what is left. " * 200)
            tokens = 41_000
    call = session.tool_call(tokens, command="git commit -am done")
    session.tool_result(call, f"[main {name[:7]}] {TASKS[number % len(TASKS)]}")
    session.reply(tokens + 200)
    return name


def take_pictures(url: str, name: str) -> None:
    """Look at each page, in the light scheme."""
    options = webdriver.ChromeOptions()
    for option in OPTIONS.split():
        options.add_argument(option)
    options.binary_location = shutil.which("chromium") or ""
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    base = url.partition("/enter")[0]
    try:
        driver.get(url)
        WebDriverWait(driver, _WAIT_S).until(lambda _: is_read(driver, base))
        places = {"sessions": "/", "overall": "/overall", "session": f"/session/{name}"}
        places["day"] = "/day"
        for page, path in places.items():
            size = {"width": WIDTH, "height": HEIGHTS[page]}
            whole = size | {"deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", whole)
            driver.get(base + path)
            driver.save_screenshot(str(IMAGES / f"{page}.png"))
    finally:
        driver.quit()


def is_read(driver: webdriver.Chrome, base: str) -> bool:
    """Tell whether every session is in, with its cost."""
    driver.get(base)
    text = driver.find_element(By.TAG_NAME, "body").text
    return f"Sessions {SESSIONS}" in text and "$" in text


if __name__ == "__main__":
    main()
