"""Random: brokers by lot, the baseline of social election.

Y. Zhao, J. Wu, "Socially-Aware Publish/Subscribe System for Human Networks", section V.A.

Theory of operation. Time is cut into cycles. At the start of each, every device becomes a broker with the same
probability, independently of all others and of what it was before; otherwise it is a user. What brokers and users do
is the same as under social election (``swarm``). The paper chooses the probability so that there are as many
brokers as social election has in the same scenario, on average.

So does hunet: unless ``share`` is given, a run first lets social election, with the same parameters, contacts and seed,
elect its brokers without any message (roles depend on contacts alone), and takes the share of the devices that were
brokers after the first window. The result's name tells, as ``prepared``, which share that was.

Where we depart from the paper, and why. It does not say how long a cycle is: such that a broker of Random serves as
long at a time as one of social election does, on average, so that neither has more changes of roles than the other.
With a ``share`` of one's own, a cycle is a window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from hunet.model import ConfigurationError, Node, Parameters, doc
from hunet.protocols.capabilities import Experiment
from hunet.protocols.contract import Control, Driver, Packet
from hunet.systems.social_election.social_election import SocialElectionParameters
from hunet.systems.social_election.swarm import BROKER, SHORTEST, USER, BrokerSwarm, Designation

if TYPE_CHECKING:
    from random import Random


class RandomBrokerParameters(SocialElectionParameters, frozen=True):
    """Random's parameters; those of the election are for the run that the number of brokers is matched to."""

    share: (
        Annotated[
            float,
            doc(
                "probability to be a broker in a cycle; none: as many as social election has", source="V.A", ge=0, le=1
            ),
        ]
        | None
    ) = None
    cycle: (
        Annotated[float, doc("length of a cycle; none: matched as the share is, or a window", unit="s", gt=0)] | None
    ) = None


class RandomBroker(BrokerSwarm):
    """Every device is a broker with the same probability, cycle by cycle."""

    Parameters: ClassVar[type[Parameters]] = RandomBrokerParameters

    saved: ClassVar[dict[str, Any]] = {
        "_cycles": int,
    }

    def __init__(self, node: Node, parameters: RandomBrokerParameters, driver: Driver, rng: Random) -> None:
        if parameters.share is None:
            raise ConfigurationError(
                "random-broker needs a share of brokers where there is no run to measure it: set one"
            )
        super().__init__(node, parameters, driver, rng)
        self._cycles = 0

    @classmethod
    def prepare(cls, parameters: Any, experiment: Experiment) -> dict[str, Any]:
        if parameters.share is not None:
            return {}
        names = [field.name for field in msgspec.structs.fields(SocialElectionParameters)]
        seen = experiment.trial("social-election", {name: getattr(parameters, name) for name in names})
        if not seen["watched"]:
            first = parameters.window or SHORTEST
            raise ConfigurationError(
                f"the contacts end within the first window ({first:g} s), before social election has a "
                "number of brokers to be matched: set share, or a shorter window"
            )
        share, cycle = seen["duty"] / seen["watched"], parameters.cycle
        if cycle is None and seen["terms"]:
            # Brokers that are drawn again go on: they serve 1 / (1 - share) cycles in a row.
            cycle = (1 - share) * seen["duty"] / seen["terms"] or None
        return {"share": share, "cycle": cycle}

    @classmethod
    def prepare_live(cls, parameters: Any, storage: int) -> Any:
        if parameters.share is None:
            raise ConfigurationError(
                "random-broker needs somebody who has the whole trace: set share, or use social-election"
            )
        return super().prepare_live(parameters, storage)

    def start(self, now: float) -> None:
        super().start(now)
        self.timer("cycle", now)

    def timer(self, tag: str, now: float) -> None:
        self.become(BROKER if self.rng.random() < self.parameters.share else USER, now)
        self._cycles += 1
        cycle = self.parameters.cycle or self.shortest
        self.driver.set_timer(tag, self.started + self._cycles * cycle)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        super().link_up(peer, now)
        return (Designation(self.role, None, self.holds(now)),)

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        link = self.links.get(peer)
        if link is not None and isinstance(packet, Designation):
            link.role, link.holds = packet.role, packet.holds
            self._introduce(peer, link, now)
        else:
            super().receive(peer, packet, now)
