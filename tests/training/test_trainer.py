"""Promise of the trainer and of LAMB: the same run on any number of processes and hosts, and after a kill."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from mobilebert_matching.length_bias.training_sets import Examples as PairExamples
from mobilebert_models import EncoderConfig, load_pretrained
from mobilebert_models import build as build_model
from mobilebert_runtime.errors import DataError, OptionError
from mobilebert_training.batches import DrawnExamples, LengthBuckets
from mobilebert_training.finetuning.fit_matcher import fit
from mobilebert_training.finetuning.matchers import EncoderMatcher
from mobilebert_training.lamb import Lamb
from mobilebert_training.pretraining.corpus import Packing, build
from mobilebert_training.pretraining.examples import ExampleRecipe, Examples, Order, collate
from mobilebert_training.pretraining.pretraining_loss import PretrainingLoss, trained
from mobilebert_training.pretraining.shards import Corpus
from mobilebert_training.pretraining.strategies import STRATEGIES, stages
from mobilebert_training.trainer import checkpoint_activations, supervised
from mobilebert_training.trainer import train as run
from mobilebert_training.training_config import LossNormalizers, ResumeError, TrainingConfig
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text
from tests.helpers.toys import toy_pairs

ROOT = Path(__file__).resolve().parents[2]
CONFIG = TrainingConfig(
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
    order = Order(examples.chunks, config.batch_size, config.seed)
    collated = partial(collate, pad=shards.special.pad)
    source = DrawnExamples(examples, order.batch, collated, {"corpus": shards.fingerprint})
    if config.checkpoint_activations:
        checkpoint_activations(model.encoder)
    loss, parameters = PretrainingLoss(model, None, stage), trained(model, stage)
    record = run(model, source, loss, config, Path(out), name="bare", parameters=parameters)
    return model, record


def largest_difference(first, second):
    return max((first[k] - second[k]).abs().max().item() for k in first)


def tune(out, shard=False):
    """Fine-tune a tiny classifier on batches by length, half of the pairs swapped."""
    network = replace(NETWORK, max_position_embeddings=64)
    matcher = EncoderMatcher(build_model(network, seed=0), MINILM, arch="small")
    examples = PairExamples(*toy_pairs(), groups=None)
    config = TrainingConfig(epochs=3, batch_size=16, learning_rate=3e-3, record_every=3, shard=shard)
    record = fit(matcher, examples, examples, config, Path(out), swap=True)
    return matcher.network, record


def both(corpus, out, shard=False):
    """Both kinds of batches; what each of several processes calls."""
    for name, (model, record) in {
        "bare": train(corpus, out, replace(CONFIG, shard=shard)),
        "finetune": tune(out, shard),
    }.items():
        assert record["processes"] == 2
        if int(os.environ["RANK"]) == 0:
            torch.save(model.state_dict(), Path(out) / f"{name}.pt")


@pytest.fixture(scope="module")
def alone(corpus, tmp_path_factory):
    """Weights and records of one process."""
    out = tmp_path_factory.mktemp("alone")
    return {"bare": train(corpus, out), "finetune": tune(out)}


def check_equal_to(alone, out):
    """After 20 steps, at a learning rate that moves weights by 1e-2: float32 sums in another order."""
    for name, (one, record) in alone.items():
        two = torch.load(out / f"{name}.pt", weights_only=True)
        assert largest_difference(one.state_dict(), two) < 1e-5, name
        theirs = json.loads((out / f"{name}.json").read_text())
        for kind in ("curve", "evaluations"):
            for ours, point in zip(record[kind], theirs[kind], strict=True):
                assert ours == pytest.approx(point, rel=1e-4), name
    start = build_model(NETWORK, "pretraining", seed=0).state_dict()
    assert largest_difference(alone["bare"][0].state_dict(), start) > 1e-2


def environment(**more):
    shared = {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return os.environ | shared | more


@pytest.mark.parametrize(
    "shard", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["replicated", "sharded"]
)
def test_two_processes_equal_one(alone, corpus, tmp_path, shard):
    script = (
        f"from tests.training.test_trainer import both; both({str(corpus)!r}, {str(tmp_path)!r}, {shard})"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What torchrun and `accelerate launch` set for each process.
    shared = environment(WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script], env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        )
        for rank in range(2)
    ]
    assert [process.wait(timeout=500) for process in processes] == [0, 0]
    check_equal_to(alone, tmp_path)


@pytest.fixture
def hosts():
    """Two network namespaces joined by a cable: their names, addresses and devices."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the program ip")
    names = [f"trainer-{os.getpid()}-{side}" for side in "ab"]
    devices = [f"tr{os.getpid()}{side}" for side in "ab"]
    made = subprocess.run(["ip", "netns", "add", names[0]], check=False, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no network namespaces here: {made.stderr.strip()}")
    try:
        commands = [
            f"netns add {names[1]}",
            f"link add {devices[0]} netns {names[0]} type veth peer name {devices[1]} netns {names[1]}",
        ]
        addresses = ["10.231.77.1", "10.231.77.2"]
        for name, device, address in zip(names, devices, addresses, strict=True):
            commands += [
                f"-n {name} addr add {address}/24 dev {device}",
                f"-n {name} link set {device} up",
                f"-n {name} link set lo up",
            ]
        for command in commands:
            subprocess.run(["ip", *command.split()], check=True)
        yield list(zip(names, addresses, devices, strict=True))
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.mark.slow
def test_two_hosts_equal_one(alone, corpus, tmp_path, hosts):
    script = tmp_path / "both.py"
    script.write_text(
        f"from tests.training.test_trainer import both\nboth({str(corpus)!r}, {str(tmp_path)!r})\n"
    )
    processes = []
    for number, (name, address, device) in enumerate(hosts):
        launch = ["torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "1", "--rdzv_backend", "c10d"]
        launch += ["--rdzv_endpoint", f"{hosts[0][1]}:29400", "--rdzv_id", "two-hosts"]
        launch += ["--rdzv_conf", f"is_host={int(not number)}", "--local_addr", address, str(script)]
        command = ["ip", "netns", "exec", name, sys.executable, "-m", *launch]
        processes.append(subprocess.Popen(command, env=environment(GLOO_SOCKET_IFNAME=device)))
    assert [process.wait(timeout=500) for process in processes] == [0, 0]
    check_equal_to(alone, tmp_path)


@pytest.mark.slow
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
        "import os, signal, sys\nimport tests.training.test_trainer as t, mobilebert_training.trainer as e\n"
        "from dataclasses import replace\n"
        "clip = e.nn.utils.clip_grad_norm_\n"
        "def kill_in_step_eleven(*given):\n"
        "    kill_in_step_eleven.calls += 1\n"
        "    if kill_in_step_eleven.calls == 11: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return clip(*given)\n"
        "kill_in_step_eleven.calls = 0\n"
        "e.nn.utils.clip_grad_norm_ = kill_in_step_eleven\n"
        "t.train(sys.argv[1], sys.argv[2], network=replace(t.NETWORK, hidden_dropout_prob=0.1))\n"
    )
    command = [sys.executable, "-c", script, str(corpus), str(tmp_path / "killed")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run(command, check=False, env=environment)
    assert killed.returncode == -signal.SIGKILL
    kept = torch.load(tmp_path / "killed" / "bare.checkpoint", weights_only=True)
    assert kept["step"] == 8
    with pytest.raises(ResumeError, match="other learning_rate"):
        train(corpus, tmp_path / "killed", replace(CONFIG, learning_rate=1e-4), network)
    resumed, resumed_record = train(corpus, tmp_path / "killed", network=network)
    whole, whole_record = train(corpus, tmp_path / "whole", network=network)
    # The first eight steps ran in another process, whose memory lay otherwise: sums may round differently.
    for ours, theirs in zip(resumed_record["curve"], whole_record["curve"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)
    assert largest_difference(whole.state_dict(), resumed.state_dict()) < 1e-6
    assert not (tmp_path / "killed" / "bare.checkpoint").exists()


def test_learns(corpus, tmp_path):
    config = replace(CONFIG, steps=60, optimiser="adamw", learning_rate=1e-2)
    _, record = train(corpus, tmp_path, config)
    assert record["curve"][-1]["mlm"] < 0.6 * record["curve"][0]["mlm"]


def test_bf16_runs_and_keeps_float32_weights(corpus, tmp_path):
    try:
        model, record = train(corpus, tmp_path, replace(CONFIG, dtype="bf16"))
    except OptionError as error:
        pytest.skip(str(error))
    single, other = train(corpus, tmp_path / "single")
    assert all(v.dtype == torch.float32 for v in model.state_dict().values())
    assert largest_difference(model.state_dict(), single.state_dict()) > 0
    assert record["curve"][-1]["loss"] == pytest.approx(other["curve"][-1]["loss"], rel=0.02)


def test_bf16_is_refused_where_it_is_emulated(monkeypatch, corpus, tmp_path):
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    with pytest.raises(OptionError, match="this cpu computes no bfloat16"):
        train(corpus, tmp_path, replace(CONFIG, dtype="bf16"))


def test_no_examples_and_a_loss_that_is_not_a_number_are_refused(tmp_path):
    with pytest.raises(DataError, match="no examples"):
        LengthBuckets([], dict, "data")
    model = torch.nn.Linear(2, 2)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    x, y = torch.full((4, 2), torch.nan), torch.tensor([0, 1, 0, 1])
    source = LengthBuckets([1] * 4, lambda batch: {"input": x[batch.index], "labels": y[batch.index]}, "data")
    with pytest.raises(OptionError, match="the loss became nan; lower the learning rate"):
        run(
            model,
            source,
            supervised(torch.nn.functional.cross_entropy),
            TrainingConfig(),
            tmp_path,
            name="nan",
        )
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


def test_normalizers_make_means_of_parts_the_mean_of_the_whole():
    values, counts = torch.tensor([2.0, 5.0, 11.0]), torch.tensor([3.0, 1.0, 4.0])
    normalizers = [LossNormalizers(tokens=float(c / counts.sum())) for c in counts]
    together = sum(v * s.tokens for v, s in zip(values, normalizers, strict=True))
    assert together == pytest.approx(float((values * counts).sum() / counts.sum()))


def test_rate_warms_up_and_decays_to_zero():
    config = replace(CONFIG, steps=100, learning_rate=1.0, warmup=0.2)
    rates = [config.rate(s, 100) for s in range(100)]
    assert rates[:3] == pytest.approx([0.05, 0.1, 0.15])
    assert rates[19] == rates[20] == 1.0
    assert rates[99] == pytest.approx(1 / 80)
    assert (np.diff(rates[20:]) < 0).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"optimiser": "sgd"}, "expected one of adamw, lamb"),
        ({"dtype": "fp8"}, "expected one of float32, bf16"),
        ({"accumulate": 0}, "at least 1"),
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


def test_a_run_writes_its_curve_for_tensorboard(corpus, tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    _, record = train(corpus, tmp_path)
    found = events.EventAccumulator(str(tmp_path / "tensorboard" / "bare")).Reload()
    for name in ("loss", "mlm", "pair"):
        points = [(point.step, point.value) for point in found.Scalars(name)]
        assert points == [(p["step"], pytest.approx(p[name], rel=1e-6)) for p in record["curve"]]
    assert [point.step for point in found.Scalars("learning_rate")] == [5, 10, 15, 20]
