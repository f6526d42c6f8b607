"""Files: written so that nothing half-written ever stands under its final name, read with errors that name them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.errors import InputError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def file_in_place(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A name to write to; when the block ends well the file gets its final name, otherwise it is removed.

    The mode is what others may do with it, before the umask; nobody can read it before it has its final name.
    """
    # The name is known before the file is there: Ctrl-C at any moment leaves nothing behind.
    partial = path.parent / f".{path.name}.{secrets.token_hex(6)}.partial"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield partial
        partial.chmod(mode & ~_umask())
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def folder_in_place(folder: Path) -> Iterator[Path]:
    """A folder to fill; when the block ends well it takes the final name (and the place of what stood there)."""
    partial = folder.parent / f".{folder.name}.{secrets.token_hex(6)}.partial"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir(0o700)
        yield partial
        partial.chmod(0o777 & ~_umask())
        if folder.exists():
            old = partial / ".replaced"
            folder.rename(old)
        partial.rename(folder)
        shutil.rmtree(folder / ".replaced", ignore_errors=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def is_unused(folder: Path) -> bool:
    """Whether a folder for results is not there yet, or empty; a file in its place is refused."""
    if not folder.exists():
        return True
    if not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder for the results")
    return not any(folder.iterdir())


def read_bytes(path: Path) -> bytes:
    """A file as it is."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(path, "no such file") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as it is."""
    import tomllib

    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(path, f"cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"is not TOML: {error}") from None


def write_toml(path: Path, content: dict[str, Any]) -> None:
    """Write a TOML file; a list of tables is written as such, whatever lies deeper in one line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_toml(Path(folder) / "run.toml", {"seed": 1, "links": {"rate": 5.0}, "case": [{"name": "a"}]})
    ...     print((Path(folder) / "run.toml").read_text(), end="")
    seed = 1
    <BLANKLINE>
    [links]
    rate = 5.0
    <BLANKLINE>
    [[case]]
    name = "a"
    """
    plain, tables = [], []
    for key, value in content.items():
        if isinstance(value, dict):
            tables.append(f"[{_toml_key(key)}]\n" + _toml_lines(value))
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            tables += [f"[[{_toml_key(key)}]]\n" + _toml_lines(each) for each in value]
        else:
            plain.append(f"{_toml_key(key)} = {_toml_value(value)}\n")
    with file_in_place(path) as partial:
        partial.write_text("\n".join(["".join(plain), *tables]) if plain else "\n".join(tables), encoding="utf-8")


def _toml_lines(table: dict[str, Any]) -> str:
    return "".join(f"{_toml_key(key)} = {_toml_value(value)}\n" for key, value in table.items())


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_key(key)} = {_toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    # JSON's strings are TOML's, but for the one control character that JSON leaves alone.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def content_hash(path: Path) -> str:
    """SHA-256 of a file, or of the files in a folder with their names: the same wherever it lies."""
    if not path.exists():
        raise InputError(path, "no such file or folder")
    digest = hashlib.sha256()
    try:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(f"{file.relative_to(path)}\n{file.stat().st_size}\n".encode())
                digest.update(file.read_bytes())
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    return digest.hexdigest()
