"""Every value that a .tflite file computes, on the processor this runs on; numpy and LiteRT are all it needs.

    python phone_probe.py MODEL.tflite INPUTS.npz OUT.npz

MODEL is a file whose first graph names all its tensors as outputs (`expose`). OUT has one array per tensor,
by its number, of one inference for each row of INPUTS: (N, …).
"""

import sys
from pathlib import Path

import numpy as np


def expose(source, target):
    """Write a copy of a model in which every computed tensor of the first graph is an output.

    So no runtime may leave one out, and none is overwritten by a later one.

    Returns:
        The operators in order: kind, tensors read, tensors written; constants are left out.
    """
    from ai_edge_litert.tools import flatbuffer_utils as fb

    from mobilebert_quantize.tflite.graph import TfliteGraph

    model = fb.read_model(str(source))
    graph = TfliteGraph.all_of(model)[0]
    computed = [int(tensor) for op in graph.operators for tensor in op.outputs]
    known = {*graph.inputs, *computed}
    model.subgraphs[0].outputs = [*graph.outputs, *(one for one in computed if one not in graph.outputs)]
    Path(target).write_bytes(fb.convert_object_to_bytearray(model))
    return [
        (graph.kind(op), [int(t) for t in op.inputs if int(t) in known], [int(t) for t in op.outputs])
        for op in graph.operators
    ]


def run(model, inputs):
    """Tensor number → its values, (N, …), the inputs among them."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(model), num_threads=1)
    interpreter.allocate_tensors()
    wanted = {detail["name"]: detail["index"] for detail in interpreter.get_input_details()}
    outputs = [detail["index"] for detail in interpreter.get_output_details()]
    found = {index: [] for index in [*wanted.values(), *outputs]}
    for row in range(len(next(iter(inputs.values())))):
        for name, index in wanted.items():
            (ours,) = (key for key in inputs if key in name)
            interpreter.set_tensor(index, inputs[ours][row : row + 1])
        interpreter.invoke()
        for index, values in found.items():
            values.append(interpreter.get_tensor(index).copy())
    return {index: np.stack(values) for index, values in found.items()}


def main():
    model, inputs, out = sys.argv[1:]
    values = run(model, dict(np.load(inputs)))
    np.savez(out, **{str(index): value for index, value in values.items()})


if __name__ == "__main__":
    main()
