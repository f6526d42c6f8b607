"""What is left of this computer's battery, as Linux tells it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_SUPPLIES = Path("/sys/class/power_supply")


def charge(supplies: Path = _SUPPLIES) -> float | None:
    """The share of its batteries that is left, from 0 to 1; None without one.

    Batteries of mice and headsets (``scope`` Device) are not the computer's. Of several the mean counts.
    """
    found = []
    for supply in supplies.glob("*/capacity"):
        with suppress(OSError, ValueError):  # it may be pulled out just now
            scope = supply.with_name("scope")
            if _text(supply.with_name("type")) == "Battery" and not (scope.exists() and _text(scope) == "Device"):
                found.append(min(100.0, max(0.0, float(_text(supply)))) / 100)
    return sum(found) / len(found) if found else None


def _text(path: Path) -> str:
    return path.read_text("utf-8").strip()
