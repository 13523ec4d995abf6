"""A notebook as a script: its cells in order; a line that begins with ! is a shell command, as in Jupyter."""

import json
import re
from pathlib import Path

SHORT = "--no-measure --quant none --seq-len 32 --buckets 32"  # what the notebook gives comes after and wins
RUNNER = """
import subprocess
def _shell(line):
    subprocess.run(line.format_map(globals()), shell=True, check=True)
import matplotlib
matplotlib.use("Agg")
"""


def code_cells(notebook: Path) -> list[str]:
    """The source of every code cell."""
    found = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "code"]


def script(notebook: Path, replaced: dict[str, str]) -> str:
    """The notebook as one script.

    Args:
        notebook: the file.
        replaced: name → the Python expression that its assignment gets instead, in the first code cell.
    """
    first, *rest = code_cells(notebook)
    for name, value in replaced.items():
        first, count = re.subn(rf"^{name} = .*$", f"{name} = {value}", first, flags=re.MULTILINE)
        assert count == 1, name
    cells = "\n\n".join([first, *rest])
    cells = cells.replace("!mobilebert export", f"!mobilebert export {SHORT}")
    shell = re.sub(r"^!(.*)$", lambda line: f"_shell({line[1]!r})", cells, flags=re.MULTILINE)
    return RUNNER + shell + "\nprint('figures', len(matplotlib.pyplot.get_fignums()))\n"
