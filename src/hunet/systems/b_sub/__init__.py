"""B-SUB and B-SUB-P: messages climb towards those who meet the interested.

Y. Zhao, J. Wu, "The Design and Evaluation of An Information Sharing System for Human Networks", IEEE TPDS 2013.

Theory of operation. A device keeps its own interests in a *genuine* filter and what it has heard of others' in a
*relay* filter, both Temporal Counting Bloom Filters. Two devices that meet exchange both. Each sends the other what the
other's genuine filter matches (a delivery), and of the rest what the other's relay filter holds more firmly than its
own: the other meets the interested more often. How much more is the *preference*; a message goes only to ever better
carriers, since the best preference that it was sent for is kept as its mark (sections 3.1, 4.4). Then each adds the
other's genuine filter to its relay filter (A-merge: a meeting is evidence) and takes the larger of the two relay
filters (M-merge: hearsay must not add up, section 4.3). Counters fade with time, so that what is not renewed vanishes.

B-SUB-P sends one filter, genuine and relay added up, so that nobody can tell a device's own interests from those that
it relays; then there are no deliveries on sight, only preferences (section 4.5). Its greeting is B-SUB's with nothing
in the genuine filter, and all else is the same: the two understand each other.

Everything is exchanged when a contact begins (section 6.1). The filters are what the paper counts as control; the
list of messages already seen, which spares duplicates, is the one that all protocols here send.

Where we depart from the paper, and why
- Every device relays; the brokers that the text still mentions were those of an earlier system (sections 2, 4.3).
- Filters merge after forwarding, as section 4.5 says for B-SUB-P. Section 4.3 reads as if they merged first; then a
  device's counters would never be below its peer's, no preference would be positive and nothing would be relayed.
- A new copy's mark is 0, and marks never fall while the copy is held (the paper says neither).
- Sender and receiver both keep a message that was delivered; receivers relay on.
- A message once seen is never taken again, also after it was dropped ("without duplication", section 6.1).
- What is published while a contact lasts is planned at once, against the filters of both as they were when the contact
  began: since then they have merged, and would prefer nobody. The paper's contacts have no length (section 6.1);
  ``while_linked = false`` leaves such messages to the next contact, as the studies of its figures do.
- A message that is published beside several neighbours goes to the subscribers among them, and of the others to the
  one that is preferred most: in the paper no two contacts last at a time.
- The paper gives no decay cycle but that the best is 2^7 to 2^8 s on Infocom 2006. Where none is given, a device takes
  twice the mean gap between the beginnings of its contacts (about 130 s on that trace), with B-SUB-P the mean gap, and
  counts cycles on a clock of its own. Gaps of an hour and more are left out: the device was away. Until it has seen a
  gap it takes 256 s.
- On slow links what may be sent is decided when the contact begins; a message to be relayed is left out when its mark
  has risen since on another link. Filters merge when all is sent, or at the contact's end.
"""

from __future__ import annotations

from hunet.systems import Purpose, Scales, Setting, System, rounded

SYSTEM = System(
    "b-sub",
    "B-SUB",
    paper=(
        'Y. Zhao, J. Wu, "The Design and Evaluation of An Information Sharing System for Human Networks", '
        "IEEE TPDS 2013"
    ),
    protocols={
        "b-sub": "hunet.systems.b_sub.b_sub:BSub",
        "b-sub-p": "hunet.systems.b_sub.b_sub:BSubP",
        "b-sub-push": "hunet.systems.b_sub.baselines:BSubPush",
        "b-sub-pull": "hunet.systems.b_sub.baselines:BSubPull",
    },
    workloads={
        "tags": "hunet.systems.b_sub.workload:TAG_WORKLOAD",
    },
    settings="hunet.systems.b_sub:settings",
    claims="hunet.systems.b_sub.claims:sections",
    figures="hunet.systems.b_sub.measures:FIGURES",
    evaluation="hunet.systems.b_sub.claims:EVALUATION",
)


def settings(scales: Scales) -> list[Setting]:
    """The decay cycle that devices find themselves; and an interest is forgotten after five cycles (Π = 5).

    B-SUB-P's one filter fills up with what others have heard, and then tells nobody apart: it has to keep pace with
    contacts.
    """
    found = [Setting("b-sub-p", "b-sub-p", {}, "demo")]
    for cycles in (20, 5, 1):
        cycle = rounded(scales.within / cycles)
        purpose: Purpose = "quick" if cycles == 5 else "advise"
        found.append(Setting(f"b-sub, decay cycle {cycle:g} s", "b-sub", {"decay_cycle": cycle}, purpose))
    return found
