"""The simulator: the event loop, links, workloads, metrics and results."""

from hunet.simulation.bound import earliest_arrivals
from hunet.simulation.engine import Links
from hunet.simulation.event_log import EventLog, ReplayError, open_log, replay
from hunet.simulation.result import SUMMARY, TABLES, Result
from hunet.simulation.run import run
from hunet.simulation.schedule import Crash
from hunet.simulation.workload_files import read_workload
from hunet.simulation.workloads import UniformWorkload, make_workload
from hunet.systems import WORKLOADS

__all__ = [
    "SUMMARY",
    "TABLES",
    "WORKLOADS",
    "Crash",
    "EventLog",
    "Links",
    "ReplayError",
    "Result",
    "UniformWorkload",
    "earliest_arrivals",
    "make_workload",
    "open_log",
    "read_workload",
    "replay",
    "run",
]
