"""How fast social election is: one point of its paper's Fig. 1.

100 people for 3,000 s, 25 publishers at one message a second (75,000 publications), links of 50 messages a second,
buffers of 100; with all metrics, all tables and the reachable bound. CPU seconds of one process.

    ./run bench social_election               both worlds and both replications, at 10 m/s
    ./run bench social_election --small       a minute of it
"""

from __future__ import annotations

import sys
import time

from hunet import Links, make_workload, make_world, run


def main() -> None:
    print("| world | replication | contacts | publications | messages that changed hands | CPU s |")
    print("|---|---|---|---|---|---|")
    for world in ("waypoint", "slaw"):
        contacts = make_world(world, seed=1, **({"duration": 60.0} if "--small" in sys.argv else {}))
        workload = make_workload(contacts, seed=1, kind="types")
        for replication in ("naive", "delegation"):
            begin = time.process_time()
            result = run(contacts, workload, "social-election", links=Links(rate=50), replication=replication)
            took = time.process_time() - begin
            sizes = f"{len(contacts):,} | {len(workload.publications):,} | {result.summary['relayed']:,}"
            print(f"| {world} | {replication} | {sizes} | {took:.1f} |", flush=True)


if __name__ == "__main__":
    main()
