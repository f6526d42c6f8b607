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
S to L, then L to S:  my role now, what I want you to be, what I hold
``Designation``
S to L, then L to S:  my role after all this, my subscriptions, what I have seen
``Standing``          of what you hold
====================  ==========================================================

Who gets a message from a third device while the contact lasts tells its neighbours (``Have``), and who saw it before
the contact began answers (``Seen``). So summaries name what one of the two holds, and not what is gone.

Where we depart from the paper, and why

- Algorithm 1 has one bound where the text, and Fig. 3, have two: the text holds. An encounter counts
  while it lasts, with the present role of the other, and ages from its end (a broker that stays beside a device is met
  all the time); the one that begins is not among them. Of several with one peer the last counts.
- Unless it is given, the window is no constant: it has the last 10 x ``lower_bound`` different people that a device has
  met, and reaches back for 100 s at least and 6 h at most. The paper's 100 s fit people who walk at 10 m/s; where
  meetings are rare, nobody meets ``lower_bound`` brokers in 100 s, and nearly all become brokers. Popularity then is
  whom a device has met in the last hour, since all have about as many people in such a window.
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
- Users deliver to users what they have published (``direct_delivery``), and a user who has met no broker asks its
  neighbours again, every T_w / 10 (``ask_again``). Neither is in the paper, and its studies switch both off: with
  Algorithm 1 alone, one pair in four that stays together never has a broker.
- Subscriptions are registered at every contact with a broker, and a broker renews its own as often; keyed by their
  text, since nobody asks who registered them.
- A utility is by the table that the next hop had before the contact: two that have merged their tables have the same.
- Scores between 0 and 1 come from weighted subscriptions (``hunet.model.matching``); the evaluation has 0 and 1 only.
- A role that changes during a contact (by the word of a third device) is told to all neighbours at once, and
  counts in their windows.
- A message has the life that the workload gives it; the paper's live for ever.
"""

from __future__ import annotations

from typing import Any

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
    """The window follows the pace of meetings, or is a share of the delay."""
    shares = [
        (None, "naive"),
        (None, "delegation"),
        (rounded(scales.within / 3), "naive"),
        (rounded(scales.within / 12), "delegation"),
    ]
    found: list[Setting] = []
    for window, replication in shares:
        length = "by the pace of meetings" if window is None else f"{window:g} s"
        chosen: dict[str, Any] = {"replication": replication, **({} if window is None else {"window": window})}
        purpose: Purpose = "advise" if found else "quick"
        found.append(Setting(f"social-election, window {length}, {replication}", "social-election", chosen, purpose))
    return found
