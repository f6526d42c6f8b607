"""Publications as bundles, and back: what a node says to the rest of the delay-tolerant world, and takes from it.

A topic is a group endpoint, ``dtn://GROUP/~TOPIC``: whoever is registered there gets what is published on it, which is
publish/subscribe in the words of RFC 9171. The payload is the publication as it is signed, so that it arrives as it
left, through any number of nodes that know nothing of hunet, and its reader still needs to believe nobody but its
author. What the primary block says follows from the publication, the sequence number from its id: a publication makes
the same bundle wherever it is exported, and DTN nodes that get it twice see that it is one.

======================  ================================================================
destination             ``dtn://GROUP/~TOPIC``, percent-encoded where a URI needs it
source                  ``dtn://AUTHOR/``
creation time           when it was published (ms since 2000)
sequence number         the first 32 bits of its id
lifetime                its ttl (ms)
flags                   must not be fragmented: we do not put fragments together
======================  ================================================================

Bundles that others make carry no signature of ours. They are refused, unless a node is told to sign them in its own
name (``signer``): it is then their author for everybody, and answers for them. A bundle and its publication must agree
on topic and author; nobody who is honest writes it otherwise.

>>> from hunet.node.identity import Identity
>>> ann = Identity.new()
>>> hello = Publication.signed(ann, "café au lait", b"hello", created=1_800_000_000.0, ttl=3600.0)
>>> bundle = bundle_of(hello)
>>> bundle.destination, bundle.source == f"dtn://{ann.device}/"
('dtn://hunet/~caf%C3%A9%20au%20lait', True)
>>> publication_in(bundle, now=1_800_000_001.0) == hello
True
"""

from __future__ import annotations

from base64 import b32decode
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from hunet.model.errors import ConfigurationError, InputError, OutputError, PeerError
from hunet.model.files import file_in_place
from hunet.node.bundle_bytes import BundleError
from hunet.node.bundles import (
    LARGEST,
    BlockFlag,
    BlockKind,
    Bundle,
    BundleFlag,
    dtn_time,
    payload,
    read_bundle,
    unix_time,
)
from hunet.node.publication import Publication, PublicationLimits, Refused, read_publication

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hunet.node.identity import Identity
    from hunet.node.node import Node

GROUP = "hunet"
"""The group of topics, unless a node is told to use another."""
_UNDERSTOOD = {BlockKind.PAYLOAD, BlockKind.PREVIOUS_NODE, BlockKind.BUNDLE_AGE, BlockKind.HOP_COUNT}
_LIMITS = PublicationLimits()
_TEXT, _BYTES = "text/plain; charset=utf-8", "application/octet-stream"


def bundle_of(publication: Publication, group: str = GROUP) -> Bundle:
    """The bundle that carries a publication; the same one wherever it is made."""
    created = dtn_time(publication.created)
    if created <= 0:
        raise ConfigurationError(f"publication {publication.id} is dated before 2000, which no bundle can be")
    return Bundle(
        f"dtn://{quote(group, safe='')}/~{quote(publication.topic)}",
        f"dtn://{publication.author}/",
        created=created,
        sequence=int.from_bytes(b32decode(publication.id.upper() + "======")[:4], "big"),
        lifetime=max(1, round(publication.ttl * 1000)),
        flags=BundleFlag.DO_NOT_FRAGMENT,
        blocks=(payload(publication.to_bytes()),),
    )


def publication_in(
    bundle: Bundle, now: float, *, signer: Identity | None = None, limits: PublicationLimits = _LIMITS
) -> Publication:
    """The publication that a bundle carries, checked.

    A bundle that is not for subscribers, or not one that we can take, is a :class:`BundleError`; a publication that is
    not sound or not in date is :class:`Refused`. With a ``signer``, a payload that is no publication becomes one of
    its own.
    """
    _refuse_unfit(bundle)
    topic = _topic(bundle.destination)
    try:
        publication = read_publication(bundle.payload, now, limits)
    except Refused as refusal:
        if refusal.reason != "malformed":
            raise
        if signer is None:
            raise BundleError(
                "the payload is not a signed publication; a node that accepts unsigned bundles signs it in its own name"
            ) from None
        return _adopted(bundle, topic, now, signer, limits)
    if publication.topic != topic:
        raise BundleError(f"the bundle is for topic '{topic}', the publication in it for '{publication.topic}'")
    if bundle.source != f"dtn://{publication.author}/":
        raise BundleError(f"the bundle is from {bundle.source}, the publication in it from {publication.author}")
    return publication


class Gateway:
    """Where bundles come into a node: an ``MtcpPort`` calls it with each, ``hunet bundle import`` by the socket."""

    def __init__(self, node: Node, accept_unsigned: bool = False) -> None:
        self._node, self._accept_unsigned = node, accept_unsigned

    async def take(self, bundle: Bundle) -> tuple[Publication, bool]:
        """Carry what a bundle carries; the publication, and whether it is new to the node. On the disk on return."""
        signer = self._node.identity if self._accept_unsigned else None
        try:
            publication = publication_in(bundle, self._node.now, signer=signer)
        except PeerError as refusal:
            self._node.count(f"refused: {refusal.reason if isinstance(refusal, Refused) else 'bundle'}")
            raise
        return publication, await self._node.bring(publication)

    async def __call__(self, bundle: Bundle) -> None:
        """Carry it, or refuse it with a :class:`PeerError`."""
        try:
            await self.take(bundle)
        except OutputError as problem:  # no room: its sender cannot help it, and others' bundles are read on
            raise BundleError(str(problem)) from None


def save_bundles(publications: Iterable[Publication], folder: Path, group: str = GROUP) -> list[Path]:
    """Write each publication into a file of its own, ``ID.bundle``; the same publication is the same file again."""
    saved: list[Path] = []
    for publication in publications:
        path = folder / f"{publication.id}.bundle"
        with file_in_place(path) as partial:
            partial.write_bytes(bundle_of(publication, group).to_bytes())
        saved.append(path)
    return saved


def bundle_files(paths: Iterable[Path]) -> list[Path]:
    """Files as they are named, and the ``.bundle`` files of folders."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.bundle")) if path.is_dir() else [path]
        if not inside:
            raise InputError(path, "has no files that end with .bundle")
        found.extend(inside)
    return found


def load_bundle(path: Path, largest: int = LARGEST) -> Bundle:
    """The bundle in a file; what is none is an error that names the file."""
    try:
        if path.stat().st_size > largest:
            raise InputError(path, f"is longer than {largest} bytes, the longest bundle that is taken")
        return read_bundle(path.read_bytes())
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except BundleError as problem:
        raise InputError(path, str(problem)) from None


def _refuse_unfit(bundle: Bundle) -> None:
    if bundle.flags & BundleFlag.ADMINISTRATIVE:
        raise BundleError("an administrative record, which is for DTN nodes and not for subscribers")
    if bundle.fragment is not None:
        raise BundleError("a fragment, and fragments are not put together here: have it sent whole")
    for block in bundle.blocks:
        if block.kind not in _UNDERSTOOD and block.flags & BlockFlag.DELETE_BUNDLE_IF_UNKNOWN:
            raise BundleError(f"{block.name} is not known here, and the bundle must not be taken without")
    if bundle.hops is not None and bundle.hops[1] > bundle.hops[0]:
        raise BundleError(f"{bundle.hops[1]} hops, and {bundle.hops[0]} at most were allowed")


def _topic(destination: str) -> str:
    """The topic that a group endpoint stands for."""
    demux = destination.removeprefix("dtn://").partition("/")[2]
    if not destination.startswith("dtn://") or not demux.startswith("~"):
        raise BundleError(f"it is for {destination}, not for a group of subscribers (dtn://GROUP/~TOPIC)")
    try:
        return unquote(demux[1:], errors="strict")
    except UnicodeDecodeError:
        raise BundleError(f"it is for {destination}, which is no topic in UTF-8") from None


def _adopted(bundle: Bundle, topic: str, now: float, signer: Identity, limits: PublicationLimits) -> Publication:
    """A foreign payload, published by the signer with the date and the life that its source gave it."""
    created = unix_time(bundle.created) if bundle.created else now - (bundle.age or 0) / 1000
    if created > now + limits.clock_skew:
        raise Refused("from the future")
    if bundle.expires(now) <= now:
        raise Refused("expired")
    try:
        bundle.payload.decode("utf-8")
        kind = _TEXT
    except UnicodeDecodeError:
        kind = _BYTES
    ttl = min(bundle.lifetime / 1000, limits.longest_ttl)  # a node may shorten lives (RFC 9171, section 4.3.1)
    try:
        return Publication.signed(
            signer, topic, bundle.payload, created=created, ttl=ttl, content_type=kind, limits=limits
        )
    except ConfigurationError as problem:
        raise BundleError(f"nobody would accept it as a publication: {problem}") from None
