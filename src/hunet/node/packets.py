"""Packets of a protocol between neighbours: how one is written, and how a neighbour's is read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model import Node, PeerError
from hunet.node.holdings import MOST_SPOKEN_OF
from hunet.node.publication import Publication, PublicationLimits, Refused, read_publication
from hunet.protocols.codec import decode, encode
from hunet.protocols.contract import Control, Data, Packet

if TYPE_CHECKING:
    from hunet.node.holdings import Holdings
    from hunet.node.store import Store


class Packets:
    """Writes and reads packets with the numbers of one device."""

    def __init__(self, holdings: Holdings, store: Store, limits: PublicationLimits) -> None:
        self._holdings, self._store, self._limits = holdings, store, limits

    def plain(self, packet: Packet, now: float) -> dict[str, Any]:
        """A packet as it travels."""
        # What is dead need not be spoken of; numbers whose messages are forgotten are among the dead.
        unsaid, messages = 0, self._holdings.messages
        if isinstance(packet, Control):
            unsaid = messages.dead(now) | (1 << max(0, len(messages) - MOST_SPOKEN_OF)) - 1
        return encode(packet, messages, self._holdings.names, unsaid)

    def read(self, plain: Any, kind: type[Packet], without: frozenset[str] = frozenset()) -> Packet:
        """A packet of a neighbour; whatever is wrong with it is the neighbour's fault."""
        try:
            packet = decode(plain, self._holdings, self._holdings, without)  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, msgspec.MsgspecError) as error:
            raise PeerError(f"a packet that cannot be read: {type(error).__name__}") from None
        if not isinstance(packet, kind):
            raise PeerError(f"a {type(packet).__name__} where a {kind.__name__} packet belongs")
        return packet

    def read_data(self, plain: dict[str, Any], publications: list[Any], giver: Node, now: float) -> Data | None:
        """A data packet whose publications are checked and in the catalogue; None if nothing of it is of use."""
        listed = plain.get("messages")
        if (
            not isinstance(listed, list)
            or not all(isinstance(each, str) for each in listed)
            or not all(isinstance(each, bytes) for each in publications)
            or not 0 < len(publications) == len(listed) == len(set(listed))
        ):
            raise PeerError("a data frame without its publications")
        useless: set[str] = set()
        read: list[tuple[Publication, bytes]] = []
        for message, encoded in zip(listed, publications, strict=True):
            try:
                publication = read_publication(encoded, now, self._limits)
            except Refused as refused:
                self._store.count(f"refused: {refused.reason}")
                if refused.reason not in (
                    "expired",
                    "from the future",
                ):  # clocks differ; the rest is the sender's fault
                    raise
                useless.add(message)
                continue
            if publication.id != message:
                raise PeerError("a publication under another's id")
            read.append((publication, encoded))
        for publication, encoded in sorted(read, key=lambda each: (each[0].created, each[0].id)):
            if publication.id in self._holdings.messages:
                self._store.count("refused: replayed")
                message = self._holdings.messages.by_id(publication.id)
            else:
                message = self._holdings.add(publication, len(encoded), giver)
            self._holdings.arriving[message.number] = encoded
        if not read:
            return None
        packet = self.read(plain, Data, frozenset(useless))
        assert isinstance(packet, Data)
        return packet
