"""The web package reads the cards that Python writes: their format is one line of its source."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_card_written_here_is_of_a_format_that_the_web_package_reads(onnx_artefact):
    source = (ROOT / "web/src/card.ts").read_text(encoding="utf-8")
    [read] = re.findall(r"^export const FORMAT = (\d+);", source, re.MULTILINE)
    assert json.loads((onnx_artefact / "io.json").read_text())["format"] == int(read)
