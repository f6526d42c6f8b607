"""Socio-Aware Overlay: the most central members of each community are its brokers, and brokers know each other.

E. Yoneki, P. Hui, S. Chan and J. Crowcroft, "A Socio-Aware Overlay for Publish/Subscribe Communication in Delay
Tolerant Networks", MSWiM 2007.

Theory of operation. Devices find their own communities by talking to those they meet (``local_community``)
and appoint as brokers the members of the highest closeness centrality in what they know of the community (section 3.3,
Eq. 1). The steps of section 5.2, as they are done here:

1. Two devices that meet exchange what community detection needs, subscriptions and unsubscriptions on their way to the
   broker, and the brokers of all communities that they know of.
2. Whenever its view of the community changes, a device works out the brokers anew.
3. An old broker sends its subscription list to the new ones and tells all brokers of the change.
4. Subscriptions spread among the members of a community and so reach its brokers.
5. A publication that reaches a broker goes to all brokers: *Direct*, by a way that needs no contact (an access point,
   the telephone network), or by *Unicast*, over contacts.
6. A publisher hands its publication to the first device that it meets, or waits for a broker; a device that is not a
   broker takes it to a broker of its community.
7. A device without a community uses the default one.
8. A broker matches a publication with its subscription list. If anybody wants it, it floods the community, as far as
   its members are away from it.

*Online*, all of this happens at once, as on real devices. *Frozen*, communities and brokers are those of the whole
trace, known to everybody from the start: what the paper's tables measure.

Where we depart from the paper, and why
- Who publishes waits for a contact even if it is a broker itself: otherwise the paper's latencies of days could not
  come about. Then it serves its own community, and the others' brokers if the device that it met will not.
- Direct transmissions count no hops: with them the paper's 1.3 hops would not be possible.
- Communities have no names, and each device announces its own role (``broker_directory``): the paper's list of
  centralities with timestamps would be the same as the list of brokers, and is not kept beside it.
- A device that has been silent for long is taken for gone, and the next ones are brokers (``patience``): the paper
  leaves expiry open.
- Frozen, the hops of a closeness are between devices that met at all. Familiar sets would be the other choice,
  but then few members are brokers and some are three hops from others; all of the paper's are one hop from everybody
  and nearly everybody is a broker (section 5.2), which is so if meeting is enough. Online, devices use what they know.
- The default community is the largest one if frozen; online, that of the first broker met. Who has heard of no broker
  takes down the wishes of those it meets and hands publications to them, beside waiting for a broker: the paper says
  nothing of a network that has no broker yet.
- Live nodes have no network that joins all brokers: they use Unicast, and refuse Direct.
- The threshold of familiarity is derived from a device's own contacts unless it is given (``familiar``).
- Brokers are all members of the highest centrality, or the smallest of them. Betweenness, which the paper leaves
  for later, may take the place of closeness.
- Unicast is epidemic among all devices, which the paper says it may end up as, or brokers meeting brokers.
- The paper's messages live for ever and buffers have no end; where a workload or a buffer sets limits, they are kept.
"""

from __future__ import annotations

from hunet.systems import Purpose, Scales, Setting, System, rounded

SYSTEM = System(
    "socio-aware-overlay",
    "Socio-Aware Overlay",
    paper=(
        'E. Yoneki, P. Hui, S. Chan, J. Crowcroft, "A Socio-Aware Overlay for Publish/Subscribe Communication '
        'in Delay Tolerant Networks", MSWiM 2007'
    ),
    protocols={
        "socio-aware-overlay": "hunet.systems.socio_aware_overlay.socio_aware_overlay:SocioAwareOverlay",
    },
    workloads={
        "overlay": "hunet.systems.socio_aware_overlay.workload:OVERLAY",
    },
    analyses={
        "communities": "hunet.systems.socio_aware_overlay.community_study:COMMUNITIES",
    },
    finders={
        "simple": "hunet.systems.socio_aware_overlay.finder:SIMPLE",
        "k-clique": "hunet.systems.socio_aware_overlay.finder:K_CLIQUE",
    },
    settings="hunet.systems.socio_aware_overlay:settings",
    claims="hunet.systems.socio_aware_overlay.claims:sections",
    figures="hunet.systems.socio_aware_overlay.measures:FIGURES",
    evaluation="hunet.systems.socio_aware_overlay.claims:EVALUATION",
)


def settings(scales: Scales) -> list[Setting]:
    """Devices derive who is familiar; or who spends a certain share of the time together is.

    To advise, brokers use contacts only: brokers that reach each other without contacts would need an infrastructure.
    The demo shows them as the paper has them, with what they send beside contacts, and in another row over contacts.
    """
    found = [
        Setting("socio-aware-overlay", "socio-aware-overlay", {"broker_link": "direct"}, "demo"),
        Setting("socio-aware-overlay, over contacts", "socio-aware-overlay", {"broker_link": "unicast"}, "beside"),
    ]
    for share, carrier in ((0, "contact"), (0, "epidemic"), (8, "epidemic")):
        threshold = rounded(scales.span / share) if share else None
        chosen = {"broker_link": "unicast", "unicast": carrier} | ({"threshold": threshold} if threshold else {})
        purpose: Purpose = "quick" if (share, carrier) == (0, "epidemic") else "advise"
        label = f"threshold {threshold:g} s, " if threshold else ""
        found.append(Setting(f"socio-aware-overlay, {label}{carrier}", "socio-aware-overlay", chosen, purpose))
    return found
