"""What a device remembers over a restart, a crash or a flat battery: one SQLite file.

Rules
-----
Everything that belongs together is written in one transaction: a message, its content, what became of it and the state
of the protocol that accepted it. :meth:`Store.commit` returns when it is on the disk (write-ahead log,
``synchronous=FULL``), and only then is anything acknowledged to anybody.

Headers (who, when, on which topic) are small and are read once, at the start; contents stay on the disk until somebody
asks for one. A header stays until its message is out of date, also when the content has gone: it is what keeps the
device from taking the message again.

A file that SQLite cannot read any more is set aside under another name, and what can still be read is copied into a
new one (:func:`open_store`). A full disk is an :class:`~hunet.model.OutputError`, and leaves what was there. The file
``reserve`` is given up when there is no room to open the store.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model import OutputError
from hunet.node.folder import make_private
from hunet.node.vault import connect, database_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VERSION = 1
_RESERVE = 256 << 10
_TABLES = {
    "facts": "name TEXT PRIMARY KEY, value BLOB",
    "devices": "number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL",
    "authors": "number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL",
    "messages": (
        "number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, topic TEXT NOT NULL, author INTEGER NOT NULL, "
        "created REAL NOT NULL, ttl REAL NOT NULL, size INTEGER NOT NULL, giver INTEGER NOT NULL"
    ),
    "contents": "number INTEGER PRIMARY KEY, content BLOB NOT NULL, checksum INTEGER NOT NULL",
    "subscriptions": "topic TEXT PRIMARY KEY, since REAL NOT NULL",
    "endings": "topic TEXT PRIMARY KEY, until REAL NOT NULL",
    "deliveries": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER UNIQUE NOT NULL, topic TEXT NOT NULL, "
        "hops INTEGER NOT NULL, at REAL NOT NULL, taken INTEGER NOT NULL DEFAULT 0"
    ),
    "sealed_receipts": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, publication TEXT NOT NULL, sealed BLOB UNIQUE NOT NULL, "
        "expires REAL NOT NULL"
    ),
    "receivers": (
        "publication TEXT NOT NULL, token BLOB NOT NULL, expires REAL NOT NULL, PRIMARY KEY (publication, token)"
    ),
    "encounters": "number INTEGER PRIMARY KEY, device TEXT NOT NULL, began REAL NOT NULL, ended REAL",
    "signals": "encounter INTEGER PRIMARY KEY, radio TEXT NOT NULL, weakest INTEGER, strongest INTEGER",
    "counters": "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
    "prekeys": "public BLOB PRIMARY KEY, private BLOB NOT NULL, since REAL NOT NULL, until REAL NOT NULL",
    "announcements": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT UNIQUE NOT NULL, since REAL NOT NULL, "
        "until REAL NOT NULL, giver TEXT NOT NULL, encoded BLOB UNIQUE NOT NULL"
    ),
    "letters": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, own INTEGER NOT NULL, id BLOB NOT NULL, "
        "clock INTEGER NOT NULL, sent REAL NOT NULL, at REAL NOT NULL, expires REAL NOT NULL, kind TEXT NOT NULL, "
        "content BLOB NOT NULL, publication TEXT, arrived REAL, done INTEGER NOT NULL DEFAULT 0, "
        "UNIQUE (device, own, id)"
    ),
    "carriers": "publication TEXT NOT NULL, device TEXT NOT NULL, UNIQUE (publication, device)",
    "group_keys": (
        "name TEXT NOT NULL, epoch INTEGER NOT NULL, key BLOB UNIQUE NOT NULL, until REAL, UNIQUE (name, epoch, key)"
    ),
    "group_members": "name TEXT NOT NULL, device TEXT NOT NULL, removed INTEGER NOT NULL, UNIQUE (name, device)",
}
_ENCOUNTERS = (
    "SELECT device, began, ended, coalesce(radio, 'ip'), weakest, strongest "
    "FROM encounters LEFT JOIN signals ON encounter = number"
)
_SEVERAL = "instr(topic, ' ')"
"""Whether a topic is more than one tag."""
_INDICES = (
    "CREATE INDEX IF NOT EXISTS waiting ON deliveries (number) WHERE NOT taken",
    "CREATE INDEX IF NOT EXISTS on_topic ON deliveries (topic, number)",
    f"CREATE INDEX IF NOT EXISTS of_several ON deliveries (number) WHERE {_SEVERAL}",
    "CREATE INDEX IF NOT EXISTS receipts_of ON sealed_receipts (publication)",
)


class Header(NamedTuple):
    """What is known of a message without its content."""

    number: int
    id: str
    topic: str
    author: int
    created: float
    ttl: float
    size: int
    giver: int
    """The device that it came from; the author's own are its author's."""


class Pending(NamedTuple):
    """A delivery that the application has not taken yet."""

    number: int
    message: int
    topic: str
    hops: int
    at: float


class Encounter(NamedTuple):
    """A time in which another device was in reach."""

    device: str
    began: float
    ended: float | None
    radio: str = "ip"
    weakest: int | None = None
    """The signal, in dBm, where the radio tells."""
    strongest: int | None = None


class Store:
    """One device's memory. Writing collects in a transaction; :meth:`commit` ends it."""

    def __init__(self, path: Path | None = None, key: bytes | None = None) -> None:
        self.path, self._key = path, key
        self._errors = database_errors(key)
        self._name = "the store in memory" if path is None else str(path)
        if path is not None:
            make_private(path)
        self._sqlite = connect(":memory:" if path is None else path, key)
        try:
            self._prepare()
        except OutputError:
            self._sqlite.close()
            raise

    def _prepare(self) -> None:
        with self._clear_errors():
            self._sqlite.execute("PRAGMA journal_mode = WAL")
            self._sqlite.execute("PRAGMA synchronous = FULL")
            self._sqlite.execute("PRAGMA secure_delete = OFF")
            for table, columns in _TABLES.items():
                self._sqlite.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            for index in _INDICES:
                self._sqlite.execute(index)
        version = self.fact("version")
        if version is None:
            self.set_fact("version", str(_VERSION).encode())
        elif version != str(_VERSION).encode():
            raise OutputError(
                f"{self._name}: is of version {version.decode()} of the store; this hunet reads {_VERSION}"
            )
        self.commit()
        row = self._row("SELECT max(taken) FROM deliveries")
        self.takes: int = row[0] or 0 if row else 0
        """Takes are numbered too, so that each follower of a topic knows what was taken before it began."""

    def abandon(self) -> None:
        """Let go of the file as it is."""
        self._sqlite.close()

    def close(self) -> None:
        """Write what is to be written, and let go of the file."""
        self.commit()
        self._sqlite.close()

    def commit(self) -> None:
        """Return when everything so far is on the disk."""
        with self._clear_errors():
            if self._sqlite.in_transaction:
                self._sqlite.execute("COMMIT")

    def rollback(self) -> None:
        """Forget everything since the last commit."""
        if self._sqlite.in_transaction:
            self._sqlite.execute("ROLLBACK")

    # Facts and counters ---------------------------------------------------------------------------------------------

    def fact(self, name: str) -> bytes | None:
        """A value by its name."""
        row = self._row("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else bytes(row[0])

    def set_fact(self, name: str, value: bytes | None) -> None:
        """Remember a value by its name, or forget it."""
        if value is None:
            self._write("DELETE FROM facts WHERE name = ?", name)
        else:
            # A row that is replaced gets a new place, and its index has to be written as well.
            self._write(
                "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value
            )

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter."""
        self._write(
            "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
            name,
            by,
        )

    def counters(self) -> dict[str, int]:
        """All counters by name."""
        return dict(self._rows("SELECT name, value FROM counters ORDER BY name"))

    # Devices --------------------------------------------------------------------------------------------------------

    def devices(self) -> list[tuple[int, str]]:
        """Every device that has a number, in order."""
        return list(self._rows("SELECT number, name FROM devices ORDER BY number"))

    def add_device(self, number: int, name: str) -> None:
        """Number a device; another one that had the number is forgotten."""
        self._write("INSERT OR REPLACE INTO devices VALUES (?, ?)", number, name)

    def authors(self) -> list[tuple[int, str]]:
        """Every author who has a number and is no device with one, in order."""
        return list(self._rows("SELECT number, name FROM authors ORDER BY number"))

    def add_author(self, number: int, name: str) -> None:
        """Number an author, until the last message by it is forgotten."""
        self._write("INSERT OR IGNORE INTO authors VALUES (?, ?)", number, name)

    def forget_author(self, number: int) -> None:
        """Forget an author."""
        self._write("DELETE FROM authors WHERE number = ?", number)

    # Messages -------------------------------------------------------------------------------------------------------

    def headers(self) -> Iterator[Header]:
        """Every message that is remembered, in the order of their numbers."""
        return map(Header._make, self._rows("SELECT * FROM messages ORDER BY number"))

    def remembered(self) -> set[int]:
        """The numbers of the messages that are remembered."""
        return {row[0] for row in self._rows("SELECT number FROM messages")}

    def add_message(self, header: Header) -> None:
        """Remember a message."""
        self._write("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *header)

    def add_content(self, number: int, content: bytes) -> None:
        """Keep the content of a message."""
        self._write("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", number, content, zlib.crc32(content))

    def content(self, number: int) -> bytes | None:
        """The content of a message, if it is kept and whole."""
        row = self._row("SELECT content, checksum FROM contents WHERE number = ?", number)
        return bytes(row[0]) if row is not None and zlib.crc32(row[0]) == row[1] else None

    def kept(self) -> Iterator[int]:
        """The numbers of the messages whose contents are here."""
        return (row[0] for row in self._rows("SELECT number FROM contents ORDER BY number"))

    def drop_content(self, number: int) -> None:
        """Let go of a content, unless the application is still to get it."""
        self._write(
            "DELETE FROM contents WHERE number = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM deliveries WHERE message = ?1 AND NOT taken)",
            number,
        )

    def forget(self, number: int) -> bool:
        """Forget a message whose content is not kept, unless it was delivered; whether it was forgotten."""
        done = self._write(
            "DELETE FROM messages WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM contents WHERE number = ?1) "
            "AND NOT EXISTS (SELECT 1 FROM deliveries WHERE message = ?1)",
            number,
        )
        return done.rowcount > 0

    def forget_before(self, time: float, but_by: int = -1) -> None:
        """Forget what was out of date by a time, but for deliveries that nobody has taken, and for an author's."""
        stale = (
            "SELECT number FROM messages WHERE created + ttl < ? AND giver <> ? AND NOT EXISTS "
            "(SELECT 1 FROM deliveries WHERE message = messages.number AND NOT taken)"
        )
        for table, column in (("contents", "number"), ("deliveries", "message"), ("messages", "number")):
            self._write(f"DELETE FROM {table} WHERE {column} IN ({stale})", time, but_by)
        for table in ("sealed_receipts", "receivers"):
            self._write(f"DELETE FROM {table} WHERE expires < ?", time)
        self._write("DELETE FROM authors WHERE number NOT IN (SELECT author FROM messages)")

    # Subscriptions and deliveries -----------------------------------------------------------------------------------

    def subscriptions(self) -> list[str]:
        """What the application wants, oldest wish first."""
        return [row[0] for row in self._rows("SELECT topic FROM subscriptions ORDER BY since, topic")]

    def endings(self) -> dict[str, float]:
        """Until when it wants what it does not want for good."""
        return dict(self._rows("SELECT topic, until FROM endings ORDER BY topic"))

    def subscribe(self, topic: str, now: float, until: float | None = None) -> None:
        """The application wants a topic: for good, or until then, whatever it has said before."""
        self._write("INSERT OR IGNORE INTO subscriptions VALUES (?, ?)", topic, now)
        if until is None:
            self._write("DELETE FROM endings WHERE topic = ?", topic)
        else:
            self._write("INSERT OR REPLACE INTO endings VALUES (?, ?)", topic, until)

    def unsubscribe(self, topic: str) -> None:
        """It no longer does."""
        for table in ("subscriptions", "endings"):
            self._write(f"DELETE FROM {table} WHERE topic = ?", topic)

    def deliver(self, message: int, topic: str, hops: int, at: float) -> bool:
        """Note that a message is the application's to take, once, whatever the protocol knows; whether it is new."""
        done = self._write(
            "INSERT OR IGNORE INTO deliveries (message, topic, hops, at) VALUES (?, ?, ?, ?)", message, topic, hops, at
        )
        return done.rowcount > 0

    def waiting(self, after: int = 0) -> Iterator[Pending]:
        """Deliveries that nobody has taken, in the order of their numbers."""
        sql = "SELECT number, message, topic, hops, at FROM deliveries WHERE NOT taken AND number > ? ORDER BY number"
        return map(Pending._make, self._rows(sql, after))

    def many_waiting(self) -> int:
        """How many these are."""
        row = self._row("SELECT count(*) FROM deliveries WHERE NOT taken")
        return int(row[0]) if row else 0

    def next_deliveries(self, after: int, since: int, topic: str | None, most: int) -> list[Pending]:
        """Deliveries after a number that nobody had taken by the take number ``since``: all, or what may have a tag."""
        sql = "SELECT number, message, topic, hops, at FROM deliveries WHERE number > ? AND (NOT taken OR taken > ?)"
        given: tuple[object, ...] = (after, since)
        if topic is not None:
            part = f"SELECT * FROM ({sql} AND {{}} ORDER BY number LIMIT ?)"
            sql = f"{part.format('topic = ?')} UNION ALL {part.format(_SEVERAL)}"
            given = (*given, topic, most, *given, most)
        return [Pending._make(row) for row in self._rows(f"{sql} ORDER BY number LIMIT ?", *given, most)]

    def deliveries(self, above: int, below: int, most: int, newest: bool = False) -> list[tuple[Pending, bool]]:
        """Deliveries with numbers between these whose contents are here, and whether each was taken."""
        sql = (
            "SELECT d.number, d.message, d.topic, d.hops, d.at, d.taken FROM deliveries d JOIN contents c "
            f"ON c.number = d.message WHERE d.number > ? AND d.number < ? ORDER BY d.number {'DESC' * newest} LIMIT ?"
        )
        return [(Pending._make(row), bool(taken)) for *row, taken in self._rows(sql, above, below, most)]

    def last_delivery(self) -> int:
        """The number of the latest delivery; 0 if there is none."""
        row = self._row("SELECT max(number) FROM deliveries")
        return int(row[0]) if row and row[0] is not None else 0

    def forget_deliveries_of(self, author: int) -> list[int]:
        """What an author wrote was never delivered; the messages that nobody had taken."""
        of = "message IN (SELECT number FROM messages WHERE author = ?)"
        waiting = [row[0] for row in self._rows(f"SELECT message FROM deliveries WHERE NOT taken AND {of}", author)]
        self._write(f"DELETE FROM deliveries WHERE {of}", author)
        return waiting

    def is_waiting(self, message: int) -> bool:
        """Whether the application is still to take a message."""
        return self._row("SELECT 1 FROM deliveries WHERE message = ? AND NOT taken", message) is not None

    def take(self, number: int) -> int | None:
        """The application has taken a delivery; the number of its message, if it had not been taken before."""
        row = self._row("SELECT message FROM deliveries WHERE number = ? AND NOT taken", number)
        if row is None:
            return None
        self._write("UPDATE deliveries SET taken = ? WHERE number = ?", self.takes + 1, number)
        self.takes += 1
        return int(row[0])

    def taken(self) -> set[int]:
        """The messages that were taken and are remembered."""
        return {row[0] for row in self._rows("SELECT message FROM deliveries WHERE taken")}

    def give_up(self, message: int) -> None:
        """There is no room for a message any more: the application does not get it."""
        self._write("UPDATE deliveries SET taken = ? WHERE message = ?", self.takes + 1, message)
        self.takes += 1
        self.drop_content(message)

    # Receipts -------------------------------------------------------------------------------------------------------

    def add_receipt(self, publication: str, sealed: bytes, expires: float, most: int) -> bool:
        """Keep a receipt, if it is new and there are fewer than ``most`` of this publication."""
        done = self._write(
            "INSERT OR IGNORE INTO sealed_receipts (publication, sealed, expires) SELECT ?1, ?2, ?3 "
            "WHERE (SELECT count(*) FROM sealed_receipts WHERE publication = ?1) < ?4",
            publication,
            sealed,
            expires,
            most,
        )
        return done.rowcount > 0

    def trim_receipts(self, most: int) -> None:
        """Keep so many receipts at most: the latest of the publication that has most of them go."""
        row = self._row("SELECT count(*) FROM sealed_receipts")
        excess = row[0] - most if row else 0
        while excess > 0:
            row = self._row(
                "SELECT publication, count(*) FROM sealed_receipts GROUP BY publication ORDER BY 2 DESC, 1 LIMIT 1"
            )
            assert row is not None
            gone = min(excess, max(1, row[1] // 2))
            self._write(
                "DELETE FROM sealed_receipts WHERE number IN "
                "(SELECT number FROM sealed_receipts WHERE publication = ? ORDER BY number DESC LIMIT ?)",
                row[0],
                gone,
            )
            excess -= gone

    def receipts(self, after: int, now: float, most: int) -> list[tuple[int, str, bytes]]:
        """Receipts that came after one, in order: number, publication, what is sealed."""
        return list(
            self._rows(
                "SELECT number, publication, sealed FROM sealed_receipts "
                "WHERE number > ? AND expires >= ? ORDER BY number LIMIT ?",
                after,
                now,
                most,
            )
        )

    def add_receiver(self, publication: str, token: bytes, expires: float) -> None:
        """Somebody has got a publication of this device."""
        self._write("INSERT OR IGNORE INTO receivers VALUES (?, ?, ?)", publication, token, expires)

    def subscribers_of(self, publication: str) -> int:
        """How many are known to have a publication: of an own one those who said so, of others' the receipts."""
        row = self._row(
            "SELECT (SELECT count(*) FROM receivers WHERE publication = ?1) + "
            "(SELECT count(*) FROM sealed_receipts WHERE publication = ?1)",
            publication,
        )
        return int(row[0]) if row else 0

    # Encounters -----------------------------------------------------------------------------------------------------

    def begin_encounter(self, device: str, now: float, radio: str = "ip") -> None:
        """A device has come into reach, over a radio."""
        number = self._write("INSERT INTO encounters (device, began) VALUES (?, ?)", device, now).lastrowid
        if radio != "ip":
            self._write("INSERT INTO signals (encounter, radio) VALUES (?, ?)", number, radio)

    def set_signal(self, device: str, weakest: int, strongest: int) -> None:
        """How strongly a device in reach has been heard."""
        self._write(
            "UPDATE signals SET weakest = ?, strongest = ? WHERE encounter = "
            "(SELECT number FROM encounters WHERE device = ? AND ended IS NULL)",
            weakest,
            strongest,
            device,
        )

    def end_encounter(self, device: str, now: float) -> None:
        """It has gone."""
        self._write("UPDATE encounters SET ended = max(began, ?) WHERE device = ? AND ended IS NULL", now, device)

    def end_encounters(self) -> None:
        """The node was not stopped in order: what had no end, ended when something was last written."""
        self._write(
            "UPDATE encounters SET ended = max(began, coalesce((SELECT CAST(CAST(value AS TEXT) AS REAL) FROM facts "
            "WHERE name = 'alive'), began)) WHERE ended IS NULL"
        )

    def encounters(self) -> Iterator[Encounter]:
        """Who was in reach, in the order in which they came."""
        return map(Encounter._make, self._rows(f"{_ENCOUNTERS} ORDER BY number"))

    def latest_encounters(self, since: float, most: int) -> list[Encounter]:
        """Who was in reach after a time, latest first."""
        sql = f"{_ENCOUNTERS} WHERE coalesce(ended, ?1) >= ?1 ORDER BY number DESC LIMIT ?2"
        return list(map(Encounter._make, self._rows(sql, since, most)))

    # SQLite ---------------------------------------------------------------------------------------------------------

    def bytes_on_disk(self) -> int:
        """How long the file is."""
        pages, size = self._row("PRAGMA page_count"), self._row("PRAGMA page_size")
        return int(pages[0]) * int(size[0]) if pages and size else 0

    def execute(self, sql: str, *values: object) -> int:
        """Write to a table that another module looks after; how many rows it concerned."""
        return self._write(sql, *values).rowcount

    def select(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Read from one."""
        return list(self._rows(sql, *values))

    def erase(self, sql: str, *values: object) -> None:
        """Delete secrets: on the disk when this returns, and overwritten there, in the write-ahead log too."""
        with self._clear_errors():
            self.commit()
            self._sqlite.execute("PRAGMA secure_delete = ON")
            try:
                self._sqlite.execute(sql, values)
                self._sqlite.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self._sqlite.execute("PRAGMA secure_delete = OFF")

    def _write(self, sql: str, *values: object) -> sqlite3.Cursor:
        with self._clear_errors():
            if not self._sqlite.in_transaction:
                self._sqlite.execute("BEGIN IMMEDIATE")
            return self._sqlite.execute(sql, values)

    def _row(self, sql: str, *values: object) -> tuple | None:  # type: ignore[type-arg]
        with self._clear_errors():
            row: tuple | None = self._sqlite.execute(sql, values).fetchone()  # type: ignore[type-arg]
            return row

    def _rows(self, sql: str, *values: object) -> Iterator[tuple]:  # type: ignore[type-arg]
        with self._clear_errors():
            yield from self._sqlite.execute(sql, values)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            if _is_damage(error):
                if self.path is not None:
                    make_private(_mark(self.path))
                raise DamagedError(self._name, error) from None
            self.rollback()
            complaint = str(error)
            full = "full" in complaint or "I/O" in complaint
            remedy = "make some room; nothing was half written" if full else "nothing was written"
            raise OutputError(f"{self._name}: cannot be written: {complaint}; {remedy}") from None


class DamagedError(OutputError):
    """A file that SQLite cannot make sense of; who opens it next salvages what can be read."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"{name}: is damaged ({error}); start the node again: what can still be read is salvaged")


def _mark(path: Path) -> Path:
    return path.with_name(path.name + ".damaged")


def _is_damage(error: Exception) -> bool:
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in codes


def open_store(path: Path, key: bytes | None = None) -> tuple[Store, str]:
    """The store in a file, and what there is to say: if the file was damaged, what was salvaged and what was lost."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark = _mark(path)
    if not mark.exists():
        with suppress(DamagedError):
            return _open(path, key), ""
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
    store = Store(path, key)
    saved, lost = _salvage(aside, store, key)
    mark.unlink()
    problem = (
        f"{path}: was damaged; {saved} rows were salvaged, tables not wholly readable: {', '.join(lost) or 'none'}"
    )
    return store, f"{problem}; the old file is kept as {aside.name}"


def _open(path: Path, key: bytes | None) -> Store:
    """The store in a file. To open one takes some room, which a reserve gives back if the disk is full."""
    reserve = path.with_name("reserve")
    try:
        store = Store(path, key)
    except DamagedError:
        raise
    except OutputError:
        if not reserve.exists():
            raise
        reserve.unlink()
        return Store(path, key)
    with suppress(OSError):
        if not reserve.exists():
            reserve.touch(mode=0o600)
            reserve.write_bytes(bytes(_RESERVE))
    return store


def _salvage(old: Path, new: Store, key: bytes | None = None) -> tuple[int, list[str]]:
    """Copy what can be read, from both ends of each table."""
    saved, lost = 0, []
    try:
        source = connect(old, key)
    except database_errors(key):
        return 0, list(_TABLES)
    with closing(source):
        with suppress(*database_errors(key)):
            source.execute("PRAGMA writable_schema = ON")  # or SQLite reads nothing of a file that was cut off
        for table in _TABLES:
            whole, rows = _readable(source, table, database_errors(key))
            for row in rows:
                with suppress(OutputError):
                    new._write(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", *row)
                    saved += 1
            if not whole:
                lost.append(table)
    new.commit()
    return saved, lost


def _readable(
    source: sqlite3.Connection, table: str, errors: tuple[type[Exception], ...] = (sqlite3.Error,)
) -> tuple[bool, list[tuple]]:  # type: ignore[type-arg]
    rows: dict[int, tuple] = {}  # type: ignore[type-arg]
    for order in ("ASC", "DESC"):
        with suppress(*errors):
            for rowid, *row in source.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid {order}"):
                if rowid in rows:
                    break
                rows[rowid] = tuple(row)
            else:
                if order == "ASC":
                    return True, list(rows.values())
    return False, [rows[rowid] for rowid in sorted(rows)]
