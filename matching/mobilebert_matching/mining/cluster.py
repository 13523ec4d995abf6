"""A stage of a mining job on a Ray cluster: blocks as a Ray dataset, a worker process per processor.

The workers read and write the job's folder, so every machine of the cluster must have it under the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mobilebert_runtime.errors import ToolError

# Makes, once in a worker, what does one block.
MakeWork = Callable[[], Callable[[int], None]]


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """The package `ray`, connected to a cluster for the block.

    Args:
        address: of a cluster, or "local" for worker processes on this machine.
        workers: processes on this machine, where the address is "local".

    Raises:
        ToolError: Ray is not installed, or no cluster answers.
    """
    try:
        import ray
    except ImportError as error:
        raise ToolError("ray is missing; run `pip install mobilebert-export[ray]` first") from error
    here = {"num_cpus": workers, "include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address, log_to_driver=False, **here)
    except (ConnectionError, RuntimeError) as error:
        raise ToolError(f"no Ray cluster at {address!r}: {error}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def run_blocks(ray: Any, blocks: list[int], make_work: MakeWork, workers: int) -> None:
    """Do blocks, one at a time in each of so many workers; the first error of a worker is raised here."""
    if not blocks:
        return

    class Worker:
        def __init__(self) -> None:
            self.work = make_work()

        def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
            for block in batch["item"]:
                self.work(int(block))
            return batch

    dataset = ray.data.from_items(blocks, override_num_blocks=len(blocks))
    done = dataset.map_batches(
        Worker, batch_size=1, num_cpus=1, compute=ray.data.ActorPoolStrategy(size=workers)
    )
    done.materialize()
