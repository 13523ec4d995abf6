"""Promise of the runtime: forked processes and signal handlers get an answer or a refusal, and never hang."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.matcher import Matcher

PAIRS = [("How old is the Moon?", "What is the age of the Moon?"), ("Old moon?", "How old?")]
PATIENCE_S = 120
# Children that leave as programs do, by `sys.exit`, so that exit handlers run; each tells the scores it got.
PROGRAM = """
import os, sys, threading, time
import numpy as np
from mobilebert_runtime import Matcher
folder, threads, children, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
pairs = [("How old is the Moon?", "What is the age of the Moon?"), ("Old moon?", "How old?")]
matcher = Matcher.load(folder, threads=threads)
expected = matcher.score(pairs)
done = threading.Event()

def work():
    while not done.is_set():
        matcher.score(pairs)

workers = [threading.Thread(target=work) for _ in range(0 if how == "quiet" else 4)]
for worker in workers:
    worker.start()
running = []
for _ in range(children):
    child = os.fork()
    if child == 0:
        if how == "unused":
            sys.exit(7)
        sys.exit(7 if np.array_equal(matcher.score(pairs), expected) else 1)
    running.append(child)
    time.sleep(0.01)
until, codes = time.monotonic() + float(sys.argv[5]), {}
while len(codes) < children and time.monotonic() < until:
    for child in set(running) - codes.keys():
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            codes[child] = os.waitstatus_to_exitcode(status)
    time.sleep(0.05)
for child in set(running) - codes.keys():
    os.kill(child, 9)
done.set()
for worker in workers:
    worker.join()
print(sorted(codes.values()), children - len(codes), "hang")
os._exit(0)
"""


def forked(folder, threads, children, how, patience=PATIENCE_S):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(threads), str(children), how, str(patience)],
        capture_output=True,
        text=True,
        check=True,
        timeout=4 * patience,
    )
    assert done.stdout.strip() == f"{[7] * children} 0 hang", done.stderr[-2000:]


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("how", ["quiet", "busy", "unused"])
def test_children_of_a_scoring_process_score_and_end(target, threads, how, request):
    forked(request.getfixturevalue(f"{target}_artefact"), threads, 3, how)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_children_of_a_scoring_process_score_and_end(target, threads, request):
    forked(request.getfixturevalue(f"{target}_artefact"), threads, 64, "busy", 600)


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_a_score_asked_of_a_signal_handler_is_right_or_refused(target, request):
    matcher = Matcher.load(request.getfixturevalue(f"{target}_artefact"))
    expected = matcher.score(PAIRS)
    found, refused = [], []

    def handler(*_):
        try:
            found.append(matcher.score(PAIRS))
        except ToolError as error:
            refused.append(str(error))

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            np.testing.assert_array_equal(matcher.score(PAIRS), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(found) + len(refused) > 10
    assert all(np.array_equal(scores, expected) for scores in found)
    assert all("note the signal in the handler" in said for said in refused)
    np.testing.assert_array_equal(matcher.score(PAIRS), expected)


def test_a_fork_while_a_child_of_the_child_scores(onnx_artefact):
    """A grandchild opens its own, too: each fork lets go once more."""
    matcher = Matcher.load(onnx_artefact)
    expected = matcher.score(PAIRS)
    child = os.fork()
    if child == 0:
        grandchild = os.fork() if np.array_equal(matcher.score(PAIRS), expected) else 0
        if grandchild == 0:
            os._exit(5 if np.array_equal(matcher.score(PAIRS), expected) else 1)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    timer = threading.Timer(PATIENCE_S, os.kill, (child, signal.SIGKILL))
    timer.start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    timer.cancel()
    assert code == 5
