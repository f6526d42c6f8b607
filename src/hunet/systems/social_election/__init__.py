"""Social election: devices that meet too few brokers appoint some, those that meet too many dismiss the unpopular.

Y. Zhao, J. Wu, "Socially-Aware Publish/Subscribe System for Human Networks".

Theory of operation. Messages and subscriptions travel among *brokers* until they match (``swarm``); all other
devices are *users*. Who is a broker is decided locally and all the time (section IV.A, Algorithm 1). Every device keeps
a sliding window of encounters: whom it met in the last T_w seconds, who of them was a broker, and how *popular* each
was, that is, how many different nodes it had met in its own window. When device x meets y, and x has met N brokers
before,

- N < lower bound, y a user: x designates y a broker;
- N >= upper bound, y a broker that is less popular than the brokers met before: x designates y a user.

The designated device obeys with the switching probability. What remains is a swarm of popular brokers, large enough
that everybody meets some. A contact begins like this, the device with the smaller number first:

====================  ==========================================================
both: ``Hello``       my role, and whom I have met
S to L, then L to S:  my role now, and what I want you to be
``Designation``
S to L, then L to S:  my role after all this, my subscriptions, what I have seen
``Standing``
====================  ==========================================================

Where we depart from the paper, and why

- Algorithm 1 has one bound where the text, and Fig. 3, have two: the text holds. Encounters count from their
  start, the present one not among them; of several with one peer the last counts.
- "The difference between its popularity and the popularity of the brokers met before" has three readings: the mean
  popularity of these brokers is the level to be reached (``mean``, the default, since the evaluation sets the threshold
  to it); how many nodes it adds to those that they have met (``marginal``); how many more it has met (``scalar``).
- Ferries that promote themselves are discussed in section IV.A.2 but are not in Algorithm 1: ``self_promotion``.
- The switching probability is a coin of the designated device, for each designation. All begin as users.
- The adaptive start of section V.D, of which there is one sentence: both bounds grow from 0 in proportion to the time
  since the start, until a window has passed: ``adaptive_start``.
- A publisher's single copy moves, and is deleted at the publisher. So does what an ex-broker holds; what the
  broker that it meets has seen already stays where it is, so that a hand-over never loses the last copy.
- Full buffers replace their lowest message instead of refusing new ones. A message dropped is not taken again.
- Users do not deliver to users: ``direct_delivery``. Subscriptions are registered at every contact with a broker,
  and a broker renews its own as often; keyed by their text, since nobody asks who registered them.
- Scores between 0 and 1 come from weighted subscriptions (``hunet.model.matching``); the evaluation has 0 and 1 only.
- A role that changes during a contact (by the word of a third device) is told to all neighbours at once.
- A message has the life that the workload gives it; the paper's live for ever.
"""

from __future__ import annotations

from hunet.systems import Purpose, Scales, Setting, System, rounded

SYSTEM = System(
    "social-election",
    "Social Election",
    paper='Y. Zhao, J. Wu, "Socially-Aware Publish/Subscribe System for Human Networks"',
    protocols={
        "social-election": "hunet.systems.social_election.social_election:SocialElection",
        "random-broker": "hunet.systems.social_election.baselines:RandomBroker",
    },
    workloads={
        "types": "hunet.systems.social_election.workload:TYPES",
    },
    settings="hunet.systems.social_election:settings",
    claims="hunet.systems.social_election.claims:sections",
    figures="hunet.systems.social_election.measures:FIGURES",
    evaluation="hunet.systems.social_election.claims:EVALUATION",
)


def settings(scales: Scales) -> list[Setting]:
    """The window is a share of the delay; users deliver to users, since a crowd may have no broker yet."""
    found = []
    for part in (12, 3):
        for replication in ("delegation", "naive"):
            window = rounded(scales.within / part)
            chosen = {"window": window, "replication": replication, "direct_delivery": True}
            purpose: Purpose = "quick" if (part, replication) == (3, "naive") else "advise"
            name = f"social-election, window {window:g} s, {replication}"
            found.append(Setting(name, "social-election", chosen, purpose))
    found.append(Setting("random-broker", "random-broker", {"window": rounded(scales.within / 3)}, "demo"))
    return found
