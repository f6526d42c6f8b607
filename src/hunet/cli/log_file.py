"""What a node says of itself: to the terminal, and to a file that only its owner can read."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any, cast

from hunet.cli.terminal import visible
from hunet.model import OutputError

if TYPE_CHECKING:
    from io import TextIOWrapper
    from pathlib import Path

_BYTES, _OLD_FILES = 1 << 20, 2


def set_up_log(verbose: bool, file: Path | None) -> None:
    """Warnings to the terminal, and what else happens if that is wanted; all of it to a file, if there is one."""
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.INFO if verbose else logging.WARNING)
    terminal.setFormatter(_Visible("hunet: %(message)s"))
    handlers: list[logging.Handler] = [terminal]
    if file is not None:
        try:
            handlers.append(_PrivateLog(file, maxBytes=_BYTES, backupCount=_OLD_FILES, encoding="utf-8"))
        except OSError as error:
            raise OutputError(f"{file}: a log cannot be written there: {error.strerror}") from None
        handlers[-1].setFormatter(_Visible("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose or file else logging.WARNING, handlers=handlers)


class _Visible(logging.Formatter):
    """One line a message, with control characters written out: what goes wrong may quote what others sent."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        record.message = visible(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return "\n".join(f"  | {visible(line)}" for line in super().formatException(ei).splitlines())


class _PrivateLog(RotatingFileHandler):
    """A log that only its owner can read: it says who was met."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.fchmod(handle, 0o600)
        return cast("TextIOWrapper", os.fdopen(handle, self.mode, encoding=self.encoding))
