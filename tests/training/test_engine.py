"""Promise of distill/engine, lamb, tensorboard: the same run on any number of processes, and after a kill."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from distill.pretraining.corpus import Packing, build
from distill.pretraining.examples import ExampleRecipe, Examples
from distill.pretraining.pretraining_loss import PretrainingLoss, trained
from distill.pretraining.shards import Corpus
from distill.pretraining.strategies import STRATEGIES, stages
from mobilebert_runtime.errors import OptionError
from models import EncoderConfig, load_pretrained
from models import build as build_model
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text
from training.engine import EngineConfig, LossNormalizers, checkpoint_activations, parameter_groups, run
from training.lamb import Lamb
from training.loop import ResumeError
from training.tensorboard import EventWriter, crc32c

ROOT = Path(__file__).resolve().parents[2]
CONFIG = EngineConfig(
    steps=20, batch_size=8, learning_rate=2e-3, checkpoint_every=4, record_every=5, seed=1, optimiser="lamb"
)
NETWORK = EncoderConfig(
    vocab_size=30522,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=32,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    (folder / "text.txt").write_text(text())
    return build([folder / "text.txt"], MINILM, folder / "built", Packing(seq_len=32)).folder


def train(corpus, out, config=CONFIG, network=NETWORK):
    """Pretrain a tiny BERT; what the processes of the tests below call, too."""
    shards = Corpus(Path(corpus))
    model = build_model(network, "pretraining", seed=0)
    stage = stages(STRATEGIES["bare"], 2, 0, config.steps)[0]
    examples = Examples(shards, np.arange(len(shards)), ExampleRecipe(seed=3))
    groups = parameter_groups(trained(model, stage), config.weight_decay)
    if config.checkpoint_activations:
        checkpoint_activations(model.encoder)
    record = run(PretrainingLoss(model, None, stage), groups, examples, config, Path(out), name="bare")
    return model, record


def largest_difference(first, second):
    return max((first[k] - second[k]).abs().max().item() for k in first)


def test_two_processes_equal_one(corpus, tmp_path):
    """After 20 steps, at a learning rate that moves weights by 1e-2: float32 sums in another order."""
    script = (
        "import sys, torch\nfrom tests.training.test_engine import train\n"
        "model, record = train(sys.argv[1], sys.argv[2])\n"
        "assert record['processes'] == 2\n"
        "torch.save(model.state_dict(), sys.argv[2] + f'/rank-{record[\"processes\"]}.pt')\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What torchrun and `accelerate launch` set for each process.
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared |= {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(corpus), str(tmp_path)],
            env=os.environ | shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(2)
    ]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    two = torch.load(tmp_path / "rank-2.pt", weights_only=True)
    one, record = train(corpus, tmp_path / "one")
    start = build_model(NETWORK, "pretraining", seed=0).state_dict()
    assert largest_difference(one.state_dict(), start) > 1e-2
    assert largest_difference(one.state_dict(), two) < 1e-5
    theirs = json.loads((tmp_path / "bare.json").read_text())
    for ours, point in zip(record["curve"], theirs["curve"], strict=True):
        assert ours == pytest.approx(point, rel=1e-5)


def test_pretrain_is_the_same_under_torchrun_and_accelerate_launch(tmp_path):
    """On a CPU `accelerate launch` starts several processes by MPI alone, so it is asked for one."""
    network = tmp_path / "network"
    network.mkdir()
    (network / "config.json").write_text(json.dumps(NETWORK.to_dict()))
    (tmp_path / "text.txt").write_text(text(120))
    corpus = build([tmp_path / "text.txt"], MINILM, tmp_path / "corpus", Packing(seq_len=32)).folder
    (corpus / "examples.json").write_text('{"pairs": "nsp", "masking": "token"}')  # as `corpus build` does
    given = ["-m", "mobilebert_export", "pretrain", str(corpus), "--student", str(network), "--threads", "1"]
    given += ["--steps", "4", "--batch-size", "8"]
    launchers = {
        "torchrun": ["torch.distributed.run", "--standalone", "--nproc_per_node", "2"],
        "accelerate": ["accelerate.commands.launch", "--cpu", "--num_processes", "1", "--num_machines", "1"],
    }
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    processes, weights = {}, {}
    for name, launcher in launchers.items():
        command = [sys.executable, "-m", *launcher, *given, "--out", str(tmp_path / name)]
        subprocess.run(command, check=True, cwd=ROOT, env=environment, timeout=300)
        processes[name] = json.loads((tmp_path / name / "bare.json").read_text())["processes"]
        weights[name] = load_pretrained(tmp_path / name / "model").state_dict()
    assert processes == {"torchrun": 2, "accelerate": 1}
    assert largest_difference(weights["torchrun"], weights["accelerate"]) < 1e-5


def test_micro_batches_and_recomputed_activations_change_nothing(corpus, tmp_path):
    whole, _ = train(corpus, tmp_path / "whole")
    parts, _ = train(corpus, tmp_path / "parts", replace(CONFIG, accumulate=4))
    again, _ = train(corpus, tmp_path / "again", replace(CONFIG, checkpoint_activations=True))
    assert largest_difference(whole.state_dict(), parts.state_dict()) < 1e-5
    assert largest_difference(whole.state_dict(), again.state_dict()) < 1e-6


def test_killed_in_the_middle_of_a_step_and_resumed_equals_uninterrupted(corpus, tmp_path):
    network = replace(NETWORK, hidden_dropout_prob=0.1)  # randomness that must come back, too
    script = (
        "import os, signal, sys\nimport tests.training.test_engine as t, training.engine as e\n"
        "from dataclasses import replace\n"
        "clip = e.Accelerator.clip_grad_norm_\n"
        "def kill_in_step_eleven(self, *given):\n"
        "    kill_in_step_eleven.calls += 1\n"
        "    if kill_in_step_eleven.calls == 11: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return clip(self, *given)\n"
        "kill_in_step_eleven.calls = 0\n"
        "e.Accelerator.clip_grad_norm_ = kill_in_step_eleven\n"
        "t.train(sys.argv[1], sys.argv[2], network=replace(t.NETWORK, hidden_dropout_prob=0.1))\n"
    )
    command = [sys.executable, "-c", script, str(corpus), str(tmp_path / "killed")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run(command, check=False, env=environment)
    assert killed.returncode == -signal.SIGKILL
    kept = list((tmp_path / "killed" / "bare.checkpoints").glob("step-*"))
    assert [p.name for p in kept] == ["step-00000008"]
    with pytest.raises(ResumeError, match="other learning_rate"):
        train(corpus, tmp_path / "killed", replace(CONFIG, learning_rate=1e-4), network)
    resumed, resumed_record = train(corpus, tmp_path / "killed", network=network)
    whole, whole_record = train(corpus, tmp_path / "whole", network=network)
    # The first eight steps ran in another process, whose memory lay otherwise: sums may round differently.
    for ours, theirs in zip(resumed_record["curve"], whole_record["curve"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)
    assert largest_difference(whole.state_dict(), resumed.state_dict()) < 1e-6
    assert not (tmp_path / "killed" / "bare.checkpoints").exists()


def test_learns(corpus, tmp_path):
    config = replace(CONFIG, steps=60, optimiser="adamw", learning_rate=1e-2)
    _, record = train(corpus, tmp_path, config)
    assert record["curve"][-1]["mlm"] < 0.6 * record["curve"][0]["mlm"]


def test_bf16_runs_and_keeps_float32_weights(corpus, tmp_path):
    from accelerate.state import AcceleratorState

    single, other = train(corpus, tmp_path / "single")
    AcceleratorState._reset_state(reset_partial_state=True)  # a process has one precision
    try:
        model, record = train(corpus, tmp_path, replace(CONFIG, precision="bf16"))
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
    assert all(v.dtype == torch.float32 for v in model.state_dict().values())
    assert largest_difference(model.state_dict(), single.state_dict()) > 0
    assert record["curve"][-1]["loss"] == pytest.approx(other["curve"][-1]["loss"], rel=0.02)


def test_shares_make_means_of_parts_the_mean_of_the_whole():
    values, counts = torch.tensor([2.0, 5.0, 11.0]), torch.tensor([3.0, 1.0, 4.0])
    normalizers = [LossNormalizers(tokens=float(c / counts.sum())) for c in counts]
    together = sum(v * s.tokens for v, s in zip(values, normalizers, strict=True))
    assert together == pytest.approx(float((values * counts).sum() / counts.sum()))


def test_rate_warms_up_and_decays_to_zero():
    config = replace(CONFIG, steps=100, learning_rate=1.0, warmup=0.2)
    rates = [config.rate(s) for s in range(100)]
    assert rates[:3] == pytest.approx([0.05, 0.1, 0.15])
    assert rates[19] == rates[20] == 1.0
    assert rates[99] == pytest.approx(1 / 80)
    assert (np.diff(rates[20:]) < 0).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"optimiser": "sgd"}, "expected one of adamw, lamb"),
        ({"precision": "fp8"}, "expected one of no, bf16"),
        ({"steps": 0}, "at least 1"),
    ],
)
def test_bad_settings_are_named_errors(change, match):
    with pytest.raises(OptionError, match=match):
        replace(CONFIG, **change)


def test_batch_that_does_not_divide_is_a_named_error(corpus, tmp_path):
    with pytest.raises(OptionError, match="8 does not divide by 1 processes times 3"):
        train(corpus, tmp_path, replace(CONFIG, accumulate=3))


def lamb_by_the_book(x, gradients, lr, betas, eps, decay):
    """You et al. 2020, Algorithm 2, with φ(z) = z, in float64."""
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t, g in enumerate(gradients, start=1):
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        r = (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
        u = r + decay * x
        size, length = np.linalg.norm(x), np.linalg.norm(u)
        ratio = size / length if size > 0 and length > 0 else 1.0
        x = x - lr * ratio * u
    return x


def test_lamb_is_algorithm_2():
    rng = np.random.default_rng(0)
    shapes = [(5, 3), (7,), (2, 2, 4)]
    begin = [rng.normal(size=s) for s in shapes[:2]] + [np.zeros(shapes[2])]
    gradients = [[rng.normal(size=s) for _ in range(12)] for s in shapes]
    parameters = [torch.nn.Parameter(torch.tensor(x)) for x in begin]
    settings = {"betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": 0.05}
    optimiser = Lamb(parameters, lr=0.03, **settings)
    for step in range(12):
        for parameter, given in zip(parameters, gradients, strict=True):
            parameter.grad = torch.tensor(given[step])
        optimiser.step()
    for parameter, x, given in zip(parameters, begin, gradients, strict=True):
        expected = lamb_by_the_book(x, given, 0.03, (0.9, 0.98), 1e-6, 0.05)
        np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


def test_lamb_steps_are_as_long_as_the_tensor_asks():
    small, large = (torch.nn.Parameter(torch.full((4,), v)) for v in (0.01, 100.0))
    optimiser = Lamb([small, large], lr=0.1, weight_decay=0.0)
    small.grad, large.grad = torch.ones(4), torch.ones(4)
    optimiser.step()
    torch.testing.assert_close(small.detach(), torch.full((4,), 0.009))
    torch.testing.assert_close(large.detach(), torch.full((4,), 90.0))


def read_events(path):
    """Records of an event file, each checksum compared."""
    data, place, events = path.read_bytes(), 0, []
    while place < len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        head, body = data[place : place + 8], data[place + 12 : place + 12 + length]
        for given, at in ((head, place + 8), (body, place + 12 + length)):
            crc = crc32c(given)
            expected = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
            assert struct.unpack_from("<I", data, at) == (expected,)
        events.append(body)
        place += 16 + length
    return events


def event_message():
    """The `Event` message by the schema, from protobuf itself."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="t", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto
    schema = {
        "Value": [("tag", 1, field.TYPE_STRING, ""), ("simple_value", 2, field.TYPE_FLOAT, "")],
        "Summary": [("value", 1, field.TYPE_MESSAGE, ".t.Value")],
        "Event": [
            ("wall_time", 1, field.TYPE_DOUBLE, ""),
            ("step", 2, field.TYPE_INT64, ""),
            ("file_version", 3, field.TYPE_STRING, ""),
            ("summary", 5, field.TYPE_MESSAGE, ".t.Summary"),
        ],
    }
    for name, fields in schema.items():
        message = file.message_type.add(name=name)
        for label, number, kind, other in fields:
            repeated = field.LABEL_REPEATED if label == "value" else field.LABEL_OPTIONAL
            message.field.add(name=label, number=number, type=kind, label=repeated, type_name=other or None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Event"))


def test_event_files_are_tensorboards(tmp_path):
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    with EventWriter(tmp_path) as events:
        events.scalars(3, {"loss": 1.5})
        events.scalars(300, {"loss": 0.25, "mlm_accuracy": 0.5})
    (path,) = tmp_path.glob("events.out.tfevents.*")
    message = event_message()
    first, second, third = (message.FromString(body) for body in read_events(path))
    assert first.file_version == "brain.Event:2"
    assert (second.step, [(v.tag, v.simple_value) for v in second.summary.value]) == (3, [("loss", 1.5)])
    assert third.step == 300
    assert {v.tag: v.simple_value for v in third.summary.value} == {"loss": 0.25, "mlm_accuracy": 0.5}
    assert 1e9 < third.wall_time < 1e11


def test_a_run_writes_its_curve_for_tensorboard(corpus, tmp_path):
    _, record = train(corpus, tmp_path)
    (path,) = (tmp_path / "tensorboard" / "bare").glob("events.*")
    points = [event_message().FromString(body) for body in read_events(path)][1:]
    assert [p.step for p in points] == [p["step"] for p in record["curve"]] == [5, 10, 15, 20]
    for point, kept in zip(points, record["curve"], strict=True):
        values = {v.tag: v.simple_value for v in point.summary.value}
        assert values["loss"] == pytest.approx(kept["loss"], rel=1e-6)
