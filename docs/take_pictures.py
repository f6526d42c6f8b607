"""Makes the pictures of the demo's report and of an advice anew, in some minutes: ``python docs/take_pictures.py``.

All that they show is of made-up crowds. Pictures of other pages are taken by their tests (``./run test --pictures``).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

COMMANDS = (
    ("demo",),
    ("world", "community", "--seed", "1", "--set", "hosts=60", "--set", "caves=6", "-o", "contacts.csv"),
    ("advise", "contacts.csv", "--ratio", "0.85", "--within", "1h", "--messages", "100", "--quick", "--runs", "5"),
)
PAGES = {"demo": "demo-results/report.html", "advice": "advice/report.html"}


def main() -> None:
    """Run the commands in a folder of their own, or in the one that is named, and take the pictures."""
    from tests.browser import open_page, start_browser, take_pictures

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        folder.mkdir(exist_ok=True)
        for words in COMMANDS:
            subprocess.run([sys.executable, "-m", "hunet", *words], cwd=folder, check=True)
        with start_browser(Path(scratch) / "profile") as browser:
            for name, page in PAGES.items():
                open_page(browser, folder / page)
                for path in take_pictures(browser, DOCS / "pictures" / name):
                    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
