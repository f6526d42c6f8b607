"""Movement: what a world gives before anybody looks for contacts.

Every world makes a :class:`Movement`: positions at any time, labels of its nodes (communities, departments),
and, on demand, the contacts. Worlds in which a contact is a matter of distance share :class:`RadioMovement`;
the campus, where it is a matter of being in the same building, has its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hunet.model.contacts import Contacts
from hunet.worlds.exact_contacts import ContactColumns, exact_contacts
from hunet.worlds.tracks import Floats, Tracks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hunet.model.parameters import Parameters


class Movement(Protocol):
    """People who move: where they are, what is known of them, whom they meet."""

    @property
    def tracks(self) -> Tracks:
        """The straight legs of everybody."""

    @property
    def duration(self) -> float:
        """Seconds of movement, from time 0."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What is known of the nodes, as JSON values; it becomes ``Contacts.metadata``."""

    def positions(self, times: ArrayLike) -> Floats:
        """Say where everybody is at the given times: an array [instant, node, (x, y)]."""

    def contacts(self) -> Contacts:
        """Find who meets whom, and when."""


@dataclass(frozen=True, slots=True, repr=False)
class RadioMovement:
    """Movement on a plane, with a contact wherever two nodes are within radio range."""

    tracks: Tracks
    duration: float
    radio_range: float
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        return f"Movement({self.metadata.get('world', 'a world')}, {len(self.tracks)} nodes, {self.duration:g} s)"

    def positions(self, times: ArrayLike) -> Floats:
        """Say where everybody is at the given times: an array [instant, node, (x, y)]."""
        return self.tracks.positions(times)

    def contacts(self) -> Contacts:
        """Find the exact contacts."""
        found = exact_contacts(self.tracks, self.radio_range, self.duration)
        return labelled(len(self.tracks), found, self.duration, self.metadata)


def labelled(nodes: int, found: ContactColumns, duration: float, metadata: dict[str, Any]) -> Contacts:
    """Make the contact table of a world: nodes named by number, and what is known of them.

    A contact that begins at 0 or ends at ``duration`` was under way when the observation began or ended.
    """
    names = [str(node) for node in range(nodes)]
    contacts = Contacts.from_arrays(names, *found, span=(0.0, duration))
    cut = {"left": int((contacts.start <= 0).sum()), "right": int((contacts.end >= duration).sum())}
    contacts.metadata.update(metadata, censored=cut)
    return contacts


def check_radio_area(width: float, height: float, radio_range: float) -> None:
    """Raise a ValueError if everybody would always hear everybody."""
    longest = max(width, height)
    if radio_range > longest:
        raise ValueError(
            f"radio_range {radio_range:g} m is larger than the area ({width:g} m x {height:g} m): everybody "
            f"would hear everybody all the time; choose a range below {longest:g} m, or a larger area"
        )


def check_order(parameters: Parameters, low: str, high: str) -> None:
    """Raise a ValueError if the parameter named ``low`` is above the one named ``high``."""
    least, most = getattr(parameters, low), getattr(parameters, high)
    if least > most:
        raise ValueError(f"{low} {least:g} is above {high} {most:g}: exchange the two")
