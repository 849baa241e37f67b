"""docs/reference/embedded-virtual-clusters.md says what is so."""

import re
import subprocess
import sys
from pathlib import Path

from kgitops.virtual_clusters.refusals import Symbol, VirtualClusterRefusal

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "embedded-virtual-clusters.md"


def test_the_page_names_every_symbol_with_its_code():
    """VC-238."""
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    named = {name: int(code) for names, code in rows for name in re.findall("[A-Z_]+", names)}
    assert named == {str(symbol): VirtualClusterRefusal(symbol, "").code.value for symbol in Symbol}


def test_the_example_runs(tmp_path: Path):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.stdout, done.stderr) == ("ok\n('User:jane',)\n", "")
