"""What the runs of a study read, sent to the executors: one archive, which each executor unpacks once.

The driver reads traces, the files of workloads and the like where they lie, and packs them under names of their
content. Executors need no path of the driver: runs travel with the names that files have in the archive.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hunet.model.errors import ConfigurationError
from hunet.pipeline.study_plan import ContactSource, Point, Run
from hunet.pipeline.traces import read_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATHS = {"workload": "paths_file", "parameters": "communities_file"}
"""The tables of settings that name files or folders, and where the settings have the hashes of their content."""
WORLDS = "hunet-worlds"
"""The folder beside the archive in which the processes of a machine share the worlds that they made."""


def send_files(spark: SparkSession, runs: list[Run], scratch: Path) -> tuple[list[Run], str]:
    """Send what runs read; returns the runs with the names of the files in the archive, and the archive's name.

    ``scratch`` is a folder that stays as long as executors may come and ask for the archive.
    """
    files: dict[str, Path | ContactSource] = {}
    points: dict[int, Point] = {}
    for run in runs:
        if run.point.number not in points:
            points[run.point.number] = _relocated(run.point, files)
    with tempfile.NamedTemporaryFile(dir=scratch, suffix=".zip", delete=False) as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in sorted(files.items()):
                if isinstance(content, ContactSource):
                    _pack_contacts(archive, name, content, spark)
                else:
                    _pack(archive, name, content)
        file.seek(0)
        # A name of the content: sent again in the same session it is the same file.
        named = scratch / f"hunet-{hashlib.file_digest(file, 'sha256').hexdigest()[:20]}.zip"
    Path(file.name).replace(named)
    spark.addArtifacts(str(named), file=True)
    return [replace(run, point=points[run.point.number]) for run in runs], named.name


def unpacked(archive: str) -> Path:
    """On an executor: the folder with the files of an archive."""
    from pyspark import SparkFiles

    sent = Path(SparkFiles.get(archive))
    folder = sent.with_suffix("")
    if not folder.exists():
        partial = Path(tempfile.mkdtemp(dir=sent.parent))
        with zipfile.ZipFile(sent) as packed:
            packed.extractall(partial)
        try:
            partial.rename(folder)
        except OSError:  # another process of this machine was first
            shutil.rmtree(partial)
    return folder


def _relocated(point: Point, files: dict[str, Path | ContactSource]) -> Point:
    """The point with names in the archive in place of paths; adds to ``files`` what they stand for.

    The last part of a path is kept: what is known of a workload tells it.
    """
    source, settings = point.source, dict(point.settings)
    if source.file is not None:
        name = f"{source.sha256}.parquet"
        files[name] = source
        source = replace(source, file=name)
    located = {key: Path(settings[f"{key}_file"]) for key in ("publications", "subscriptions") if key in settings}
    for key, path in located.items():
        settings[f"{key}_file"] = name = f"{settings[key]}/{path.name}"
        files[name] = path
    for table, digests in PATHS.items():
        if settings.get(digests):
            settings[table] = dict(settings[table])
            for field, digest in settings[digests].items():
                path = Path(os.path.normpath(Path(settings["base_file"]) / settings[table][field]))
                settings[table][field] = name = f"{digest}/{path.name}"
                files[name] = path
    if "base_file" in settings:
        settings["base_file"] = ""
    return replace(point, source=source, settings=settings)


def _pack_contacts(archive: zipfile.ZipFile, name: str, source: ContactSource, spark: SparkSession) -> None:
    from hunet.model.contact_files import write_contacts

    assert source.file is not None
    contacts = read_trace(source.file, spark)
    if contacts.fingerprint != source.sha256:
        raise ConfigurationError(f"{source.file} has changed since the study was read")
    with tempfile.TemporaryDirectory() as folder:
        write_contacts(contacts, Path(folder) / name)
        _pack(archive, name, Path(folder) / name)


def _pack(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Add a file, or a folder with all that is in it; without times, so that the same files give the same bytes."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            info = zipfile.ZipInfo(str(Path(name) / file.relative_to(path)))
            with file.open("rb") as content, archive.open(info, "w", force_zip64=True) as packed:
                shutil.copyfileobj(content, packed)
