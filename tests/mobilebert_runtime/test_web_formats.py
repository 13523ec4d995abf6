"""The web package reads the cards that Python writes: its list of formats is one line of its source."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_card_written_here_is_of_a_format_that_the_web_package_reads(onnx_artefact):
    source = (ROOT / "web/src/card.ts").read_text(encoding="utf-8")
    [listed] = re.findall(r"FORMATS: readonly number\[\] = \[([\d, ]+)\]", source)
    written = json.loads((onnx_artefact / "io.json").read_text())["format"]
    assert written in [int(number) for number in listed.split(",")]
    built = (ROOT / "mobilebert_export/site_files/worker.js").read_text(encoding="utf-8")
    assert f"=[{listed.replace(' ', '')}]" in built, "run `make web`"
