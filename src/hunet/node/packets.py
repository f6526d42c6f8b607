"""Packets of a protocol between neighbours: how one is written, and how a neighbour's is read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.model import Node, PeerError
from hunet.node.holdings import MOST_SPOKEN_OF
from hunet.node.message_numbers import short_id
from hunet.node.publication import (
    Publication,
    PublicationLimits,
    Refused,
    read_publication,
)
from hunet.protocols.contract import Control, Data, Packet
from hunet.protocols.packet_bytes import from_bytes, to_bytes

if TYPE_CHECKING:
    from hunet.node.holdings import Holdings
    from hunet.node.store import Store


class Packets:
    """Writes and reads packets with the numbers of one device."""

    def __init__(self, holdings: Holdings, store: Store, limits: PublicationLimits) -> None:
        self._holdings, self._store, self._limits = holdings, store, limits

    def write(self, packet: Packet, now: float) -> bytes:
        """A packet as it travels."""
        # What is dead need not be spoken of; numbers whose messages are forgotten are among the dead.
        unsaid, messages, names = 0, self._holdings.messages, self._holdings.names
        message_id = self._holdings.numbers.short_ids.__getitem__
        if isinstance(packet, Control):
            unsaid = messages.dead(now) | (1 << max(0, len(messages) - MOST_SPOKEN_OF)) - 1
        return to_bytes(packet, message_id, lambda node: short_id(names[node]), unsaid)

    def read(self, data: Any) -> Packet:
        """A control packet of a neighbour; whatever is wrong with it is the neighbour's fault."""
        if not isinstance(data, bytes):
            raise PeerError("a packet that is not bytes")
        return from_bytes(data, self._holdings.numbers.find, self._holdings.device)

    def read_data(self, data: bytes, publications: list[Any], giver: Node, now: float) -> Data | None:
        """A data packet whose publications are checked and in the catalogue; None if nothing of it is of use."""
        if not publications or not all(isinstance(each, bytes) for each in publications):
            raise PeerError("a data frame without its publications")
        read = {index: found for index, each in enumerate(publications) if (found := self._read(each, now))}
        if len({publication.id for publication in read.values()}) < len(read):
            raise PeerError("a publication twice in a frame")
        numbers: list[int | None] = [None] * len(publications)
        for index, publication in sorted(read.items(), key=lambda each: (each[1].created, each[1].id)):
            encoded = publications[index]
            if publication.id in self._holdings.messages:
                self._store.count("refused: replayed")
                number = self._holdings.messages.by_id(publication.id).number
            else:
                number = self._holdings.add(publication, len(encoded), giver).number
            self._holdings.arriving[number] = encoded
            numbers[index] = number
        if not read:
            return None
        packet = from_bytes(data, self._holdings.numbers.find, self._holdings.device, numbers)
        assert isinstance(packet, Data)
        return packet

    def _read(self, encoded: bytes, now: float) -> Publication | None:
        try:
            return read_publication(encoded, now, self._limits, self._is_here)
        except Refused as refused:
            self._store.count(f"refused: {refused.reason}")
            if refused.reason in ("expired", "from the future"):  # clocks differ; the rest is the sender's fault
                return None
            raise

    def _is_here(self, id: str, encoded: bytes) -> bool:  # noqa: A002
        """Whether the very same bytes are on the disk, where only what was checked comes."""
        messages = self._holdings.messages
        return id in messages and encoded == self._store.content(messages.by_id(id).number)
