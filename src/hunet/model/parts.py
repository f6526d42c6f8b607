"""The parts in which hunet is installed: pip's extras, and the modules that each of them brings."""

from __future__ import annotations

_PURPOSE = {
    "ble": "Bluetooth",
    "sealed": "SQLCipher",
    "sim": "the simulator",
    "report": "matplotlib",
    "spark": "Apache Spark",
}
"""From the smallest to the largest: but for the first two, which stand alone, each holds those before it."""
BROUGHT_BY = {
    "numpy": "sim",
    "pandas": "sim",
    "pyarrow": "sim",
    "rustworkx": "sim",
    "matplotlib": "report",
    "pyspark": "spark",
    "py4j": "spark",
    "grpc": "spark",
    "grpc_status": "spark",
    "google": "spark",
    "zstandard": "spark",
    "bumble": "ble",
    "sqlcipher3": "sealed",
}


def missing_part(who: str, error: ModuleNotFoundError, least: str = "sim") -> str | None:
    """What to install for a module that is not there, where it is one of an extra; at least the extra ``least``.

    >>> missing_part("hunet.run", ModuleNotFoundError(name="pyarrow.parquet"))
    "hunet.run needs the simulator: pip install 'hunet[sim]'"
    """
    extra = BROUGHT_BY.get((error.name or "").partition(".")[0])
    if extra is None:
        return None
    if extra not in ("ble", "sealed"):
        extra = max(extra, least, key=list(_PURPOSE).index)
    return f"{who} needs {_PURPOSE[extra]}: pip install 'hunet[{extra}]'"
