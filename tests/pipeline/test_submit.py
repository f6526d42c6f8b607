"""spark-submit, as docs/pipeline.md tells: master and options are its own, and hunet joins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from hunet import read_contacts
from tests.pipeline.conftest import spark_environment
from tests.test_docs import ROOT, of


@pytest.mark.slow
def test_a_submitted_import(tmp_path: Path) -> None:
    [job] = [text for text in of(ROOT / "docs" / "pipeline.md", "python") if "main()" in text]
    (tmp_path / "hunet_job.py").write_text(job)
    (tmp_path / "log.csv").write_text("a,b,start,end\nann,bob,0,10\n")
    options = {"spark.master": "local[1]", "spark.driver.memory": "512m", "spark.ui.enabled": "false"}
    words = [word for name, value in options.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [
            Path(pyspark.__file__).parent / "bin" / "spark-submit",
            *words,
            *("hunet_job.py", "trace", "import", "log.csv", "-o", "out"),
        ],
        env=spark_environment() | {"PYSPARK_DRIVER_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("out: 2 nodes, 1 contacts")
    assert len(read_contacts(tmp_path / "out")) == 1
