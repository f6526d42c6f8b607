"""hunet itself as a zip file: what executors that have no hunet import."""

from __future__ import annotations

import zipfile
from importlib.metadata import version
from pathlib import Path


def package_zip(folder: Path) -> Path:
    """Write the package as executors import it, with its version, which the names of results tell."""
    package = Path(__file__).parents[1]
    target = folder / "hunet.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, Path("hunet") / path.relative_to(package))
        archive.writestr(
            f"hunet-{version('hunet')}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: hunet\nVersion: {version('hunet')}\n",
        )
    return target
