"""To run a node for long: configuration, logs, metrics, backups, an encrypted folder, and the end of it all."""

from __future__ import annotations

import json
import logging
import re
import stat
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from hunet.cli import log_file, operation
from hunet.cli.bundle import app as bundle_app
from hunet.cli.node import node
from hunet.model import ConfigurationError, InputError
from hunet.node import backup as room
from hunet.node.http.metrics import metrics
from hunet.node.identity import Identity
from hunet.node.vault import Vault
from tests.node.company import until
from tests.node.test_http_api import served
from tests.node.test_node import device, play

PUSH: dict[str, Any] = {"protocol": "push"}
PHRASE = "correct horse battery"
BOB = Identity.new()


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passphrases are meant to cost time; here they cost little."""
    monkeypatch.setattr("hunet.node.vault._COST", 16)


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


async def live(folder: Path, **given: Any) -> str:
    """A node that says something, knows somebody, and is stopped; its name."""
    async with device(folder, "ann", **PUSH, **given) as ann:
        ann.book.name(BOB.device, "Bobby")
        await ann.publish("gossip", "nobody must know")
        await ann.send("Bobby", "a secret for you")
        return ann.device


async def looks_alive(folder: Path, name: str, known: str, **given: Any) -> None:
    async with device(folder, name, **PUSH, **given) as ann:
        assert ann.device == known
        assert [one["topic"] for one in ann.carried()] == ["gossip"]
        assert [letter.text for letter in ann.conversation("Bobby")] == ["a secret for you"]


# An encrypted folder ----------------------------------------------------------------------------------------------


def test_an_encrypted_folder_shows_nothing_and_opens_with_its_passphrase(tmp_path: Path) -> None:
    async def scene() -> None:
        known = await live(tmp_path, passphrase=PHRASE)
        shown = everything(tmp_path / "ann")
        secrets = (b"gossip", b"nobody must know", b"a secret", b"Bobby", BOB.device.encode(), b"SQLite format")
        assert not [secret for secret in secrets if secret in shown]
        await looks_alive(tmp_path, "ann", known, passphrase=PHRASE)
        for wrong, problem in (("correct horse", "not its passphrase"), (None, "is encrypted; give --passphrase-file")):
            with pytest.raises(ConfigurationError, match=problem):
                async with device(tmp_path, "ann", **PUSH, passphrase=wrong):
                    pass
        assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "ann").iterdir()} == {0o600}

    play(scene())


def test_a_folder_that_is_not_encrypted_does_not_become_so_by_itself(tmp_path: Path) -> None:
    async def scene() -> None:
        await live(tmp_path)
        with pytest.raises(ConfigurationError, match="is not encrypted; make it so"):
            async with device(tmp_path, "ann", **PUSH, passphrase=PHRASE):
                pass

    play(scene())


def test_a_vault_that_is_damaged_or_asks_too_much_is_refused(tmp_path: Path) -> None:
    from hunet.node import wire

    with pytest.raises(ConfigurationError, match="at least 8 letters"):
        Vault.open(tmp_path, "short")
    vault = Vault.open(tmp_path, PHRASE)
    assert vault is not None
    assert repr(vault) == "Vault()"
    with pytest.raises(ValueError, match="decrypted"):
        vault.unseal(vault.seal(b"x")[:-1])
    costly = wire.encode({"version": 1, "salt": b"", "cost": 1 << 30, "key": b""})
    for content, problem in ((b"junk", "is damaged"), (wire.encode({}), "is not the key"), (costly, "more memory")):
        (tmp_path / "vault").write_bytes(content)
        with pytest.raises(InputError, match=problem):
            Vault.open(tmp_path, PHRASE)


def test_a_damaged_encrypted_store_is_salvaged(tmp_path: Path) -> None:
    async def scene() -> None:
        known = await live(tmp_path, passphrase=PHRASE)
        path = tmp_path / "ann" / "hunet.db"
        (tmp_path / "ann" / "hunet.db.damaged").touch()  # as a node does that finds a page it cannot read
        await looks_alive(tmp_path, "ann", known, passphrase=PHRASE)
        assert len(list(path.parent.glob("hunet.db.damaged-*"))) >= 1

    play(scene())


def test_publications_of_an_encrypted_folder_are_exported_with_its_passphrase_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        await live(tmp_path, passphrase=PHRASE)

    play(scene())
    words = ["export", "-d", str(tmp_path / "ann"), "-o", str(tmp_path / "out"), "--topic", "gossip"]
    assert "is encrypted; give" in str(CliRunner().invoke(bundle_app, words).exception)
    assert not list((tmp_path / "ann").glob("*.damaged*"))
    monkeypatch.setenv("HUNET_PASSPHRASE", PHRASE)
    assert CliRunner().invoke(bundle_app, words).exit_code == 0
    assert len(list((tmp_path / "out").iterdir())) == 1


# Backups ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phrase", [None, PHRASE])
def test_a_backup_of_a_running_node_is_restored(tmp_path: Path, phrase: str | None) -> None:
    copy = tmp_path / "copy.tar"

    async def scene() -> None:
        known = await live(tmp_path, passphrase=phrase)
        async with device(tmp_path, "ann", **PUSH, passphrase=phrase) as ann:
            prekey = next(iter(ann._private._inboxes.values())).private_bytes_raw()
            room.backup(tmp_path / "ann", copy, phrase)
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert (b"a secret" in copy.read_bytes()) == (phrase is None)
        assert prekey not in copy.read_bytes()  # a copy that is kept must not make old messages readable
        room.restore(copy, tmp_path / "again")
        await looks_alive(tmp_path, "again", known, passphrase=phrase)
        with pytest.raises(ConfigurationError, match="there is a node already"):
            room.restore(copy, tmp_path / "again")

    play(scene())


def test_a_backup_becomes_an_encrypted_folder(tmp_path: Path) -> None:
    async def scene() -> None:
        known = await live(tmp_path)
        room.backup(tmp_path / "ann", tmp_path / "copy")
        room.restore(tmp_path / "copy", tmp_path / "sealed", PHRASE)
        shown = everything(tmp_path / "sealed")
        assert not [secret for secret in (b"gossip", b"a secret", b"Bobby", b"BEGIN PRIVATE") if secret in shown]
        await looks_alive(tmp_path, "sealed", known, passphrase=PHRASE)
        room.backup(tmp_path / "sealed", tmp_path / "sealed-copy", PHRASE)
        with pytest.raises(ConfigurationError, match="encrypted already"):
            room.restore(tmp_path / "sealed-copy", tmp_path / "other", PHRASE)

    play(scene())


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no node"):
        room.backup(tmp_path, tmp_path / "copy")
    (tmp_path / "text").write_text("hello")
    with tarfile.open(tmp_path / "evil", "w") as tar:
        about = tarfile.TarInfo("../key.pem")
        tar.addfile(about)
    for name, problem in (("text", "is not a backup"), ("evil", "is not a backup"), ("none", "cannot be read")):
        with pytest.raises(InputError, match=problem):
            room.restore(tmp_path / name, tmp_path / "folder")
    assert not (tmp_path / "key.pem").exists()


# The end --------------------------------------------------------------------------------------------------------------


def test_a_wiped_node_leaves_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        await live(tmp_path)

    play(scene())
    kept = (tmp_path / "ann" / "hunet.db").open("rb")  # whoever still has the file open reads noise
    with kept:
        assert room.wipe(tmp_path / "ann") >= 3
        assert b"a secret" not in kept.read()
    assert not (tmp_path / "ann").exists()
    with pytest.raises(ConfigurationError, match="there is no node"):
        room.wipe(tmp_path / "ann")
    (tmp_path / "bob").mkdir()
    for name in ("key.pem", "letter.txt"):
        (tmp_path / "bob" / name).write_text("x")
    room.wipe(tmp_path / "bob")
    assert [path.name for path in (tmp_path / "bob").iterdir()] == ["letter.txt"]  # it is not ours


NODE = typer.Typer()
NODE.command()(node)
APP = typer.Typer()
for command in (operation.backup, operation.restore, operation.wipe):
    APP.command()(command)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "node.toml").write_text(
        f"""
        folder = "{tmp_path}/ann"
        protocol = "push"
        listen = "127.0.0.1:0"
        beacons = false
        log-file = "{tmp_path}/ann.log"
        """
    )
    hunet = [sys.executable, "-c", "from hunet.cli import main; main()"]
    with subprocess.Popen(
        [*hunet, "node", "--config", tmp_path / "node.toml"], stderr=subprocess.PIPE, text=True
    ) as it:
        yield it
        it.kill()


def test_a_node_with_a_configuration_and_a_log_is_wiped_while_it_runs(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert running.stderr is not None
    assert " runs push at 127.0.0.1:" in running.stderr.readline()
    folder, copy = tmp_path / "ann", tmp_path / "copy"
    assert stat.S_IMODE((tmp_path / "ann.log").stat().st_mode) == 0o600
    assert CliRunner().invoke(APP, ["backup", str(copy), "-d", str(folder)]).exit_code == 0
    assert CliRunner().invoke(APP, ["wipe", "-d", str(folder)], "n\n").exit_code != 0
    assert running.poll() is None
    wiped = CliRunner().invoke(APP, ["wipe", "-d", str(folder), "--yes"])
    assert re.fullmatch(r"\d+ files destroyed\n", wiped.output)
    assert running.wait(20) == 0
    assert not folder.exists()
    assert CliRunner().invoke(APP, ["restore", str(copy), "-d", str(folder)]).exit_code == 0
    assert (folder / "key.pem").exists()


# Configuration, logs, metrics -----------------------------------------------------------------------------------------


def test_a_configuration_file(tmp_path: Path) -> None:
    seen: list[Any] = []
    app = typer.Typer()

    @app.command()
    def some(
        config: Annotated[Path | None, typer.Option(is_eager=True, callback=operation.read_config)] = None,
        protocol: str = "b-sub",
        settings: Annotated[list[str] | None, typer.Option("--set")] = None,
        beacons: Annotated[bool, typer.Option("--beacons/--no-beacons")] = True,
    ) -> None:
        seen.append((protocol, settings, beacons))

    file = tmp_path / "node.toml"
    file.write_text('protocol = "push"\nset = ["a=1", "b=2"]\nbeacons = false\n')
    for words in ([], ["--config", str(file)], ["--config", str(file), "--protocol", "pull", "--beacons"]):
        assert CliRunner().invoke(app, words).exit_code == 0
    assert seen == [("b-sub", None, True), ("push", ["a=1", "b=2"], False), ("pull", ["a=1", "b=2"], True)]
    for text, problem in (("protokol = 1", "did you mean 'protocol'"), ("x", "node.toml"), ("config = 1", "no option")):
        file.write_text(text)
        assert problem in str(CliRunner().invoke(app, ["--config", str(file)]).exception)
    assert "cannot be read" in str(CliRunner().invoke(app, ["--config", str(tmp_path / "none")]).exception)


def test_the_example_of_a_configuration_names_options_that_there_are(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "deploy" / "node.toml"
    text = re.sub(r"^# (?=[a-z-]+ = )", "", example.read_text(), flags=re.MULTILINE)
    command = typer.main.get_command(NODE)
    context = typer.Context(command)
    given = tomllib.loads(text)
    assert len(given) > 8
    (tmp_path / "all.toml").write_text(text)
    operation.read_config(context, tmp_path / "all.toml")
    assert context.default_map is not None
    assert sorted(context.default_map.values(), key=str) == sorted(given.values(), key=str)


def test_passphrases_come_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert operation.passphrase(None) is None
    monkeypatch.setenv("HUNET_PASSPHRASE", PHRASE)
    assert operation.passphrase(None) == PHRASE
    file = tmp_path / "phrase"
    file.write_text("another one\n")
    assert operation.passphrase(file) == "another one"
    with monkeypatch.context() as named:
        named.setenv("HUNET_PASSPHRASE_FILE", str(file))
        assert operation.passphrase(None) == "another one"
    file.write_text("\n")
    for path in (file, tmp_path / "none"):
        with pytest.raises(InputError):
            operation.passphrase(path)


def test_a_log_is_for_its_owner_only_and_does_not_grow_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "_BYTES", 2000)
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    before = root.level
    try:
        log_file.set_up_log(True, tmp_path / "log")
        for number in range(100):
            logging.getLogger("hunet.node").info("met number %d", number)
    finally:
        for handler in root.handlers:
            handler.close()
        root.setLevel(before)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["log", "log.1", "log.2"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert sum(path.stat().st_size for path in files) < 6100
    assert "INFO hunet.node: met number 99" in files[0].read_text()


def test_what_a_log_quotes_of_others_is_on_one_line_without_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, forged = logging.getLogger(), "x\x1b[2J\n2026-11-19 12:00:00 INFO hunet.node: all is well\u202e"
    monkeypatch.setattr(root, "handlers", [])
    before = root.level
    try:
        log_file.set_up_log(True, tmp_path / "log")
        logging.getLogger("hunet.node").warning("%s is left alone", forged)
        try:
            raise ValueError(forged)
        except ValueError:
            logging.getLogger("hunet.node").info("the protocol cannot deal with it", exc_info=True)
    finally:
        for handler in root.handlers:
            handler.close()
        root.setLevel(before)
    for written in ((tmp_path / "log").read_text(), capsys.readouterr().err):
        assert "\x1b" not in written
        assert "\u202e" not in written
        lines = [line for line in written.splitlines() if "all is well" in line]
        assert [line[:20] for line in lines if "left alone" not in line] == ["  | 2026-11-19 12:00"]
        assert "\\n2026-11-19" in next(line for line in lines if "left alone" in line)


def test_metrics_are_as_prometheus_reads_them(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            device(tmp_path, "ann", **PUSH) as ann,
            device(tmp_path, "bob", ann, **PUSH) as bob,
            served(bob) as (_, ask),
        ):
            await until(lambda: bool(bob.peers()))
            async with ask.session.get(f"{ask.base}/metrics") as answer:
                assert answer.content_type == "text/plain"
                text = await answer.text()
            assert "\nhunet_peers 1\n" in text
            assert json.loads(re.findall(r"^hunet_disk_bytes (.*)", text, re.MULTILINE)[0]) > 0

    play(scene())
    status = {
        "protocol": 'a"b\\c',
        "counters": {"two\nlines": 1},
        "radios": {"ble": {"air_bytes": 5}, "x": {"air_bytes": 6}},
    }
    lines = metrics(status).splitlines()
    sample = re.compile(r'hunet_[a-z_]+(\{([a-z]+="([^"\\\n]|\\\\|\\"|\\n)*",?)*\})? [0-9.]+')
    assert [line for line in lines if not line.startswith("# ") and not sample.fullmatch(line)] == []
    assert lines.count("# TYPE hunet_radio_air_bytes gauge") == 1
