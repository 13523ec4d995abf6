"""Cost model of a linear layer in each runtime, dense or factored: five fitted numbers per recipe.

    µs = fixed · operators + (mac · multiply-accumulates + row · rows + result · results + move · moved) / 1e3

`row` is paid for every row that a product reads, `result` for every number that it writes (accumulators are
scaled, rounded, stored), `move` for every number that is transposed, added or multiplied alone. Rows are what
makes a factor of 2 × 2 dear: it has few multiplications, but 192 rows a token, and a runtime with ranges of
its own for each row scans them all.
The numbers are fitted to measured times by `studies/kronecker/operator_costs.py`, which says how well;
`results/kronecker/operators.json` has the times and names the machine. They decide between two forms of the
same layer, so what matters of them is their ratios.
"""

from __future__ import annotations

from dataclasses import dataclass

from mobilebert_quantize.recipes import Recipe


@dataclass(frozen=True)
class OperatorCosts:
    """Microseconds an operator; nanoseconds a multiply-accumulate, row, result, moved number; one thread."""

    fixed: float
    mac: float
    row: float
    result: float
    move: float

    def linear(self, tokens: int, n: int, m: int) -> float:
        """Microseconds of one (m, n) matrix for so many tokens."""
        return self.of(linear_work(tokens, n, m))

    def factored(self, tokens: int, sizes: tuple[int, int, int, int], rank: int, *, b_first: bool) -> float:
        """Microseconds of Σ A ⊗ B, sizes (m1, n1, m2, n2), by two products."""
        return self.of(factored_work(tokens, sizes, rank, b_first=b_first))

    def lookup(self, tokens: int, width: int) -> float:
        """Microseconds of looking up rows and multiplying them with their scales."""
        return self.of(Work(2, 0, 0, 0, 2 * tokens * width))

    def factored_lookup(self, tokens: int, columns: int, n: int, rank: int) -> float:
        """Microseconds of looking up (columns, rank) numbers a word and multiplying them out."""
        found = Work(2, 0, 0, 0, 2 * tokens * columns * rank)
        rows, results = tokens * columns, tokens * columns * n
        if rank == 1:
            return self.of(found + Work(1, 0, 0, 0, results))
        return self.of(found + Work(1, results * rank, rows, results, 0))

    def of(self, work: Work) -> float:
        """Microseconds of some work."""
        each = self.mac * work.macs + self.row * work.rows
        each += self.result * work.results + self.move * work.moved
        return self.fixed * work.operators + each / 1000


@dataclass(frozen=True)
class Work:
    """Counts that the cost model weights."""

    operators: int
    macs: int
    rows: int
    results: int
    moved: int

    def __add__(self, other: Work) -> Work:
        return Work(
            self.operators + other.operators,
            self.macs + other.macs,
            self.rows + other.rows,
            self.results + other.results,
            self.moved + other.moved,
        )


def linear_work(tokens: int, n: int, m: int) -> Work:
    """Counts of one (m, n) matrix."""
    return Work(1, tokens * n * m, tokens, tokens * m, 0)


def factored_work(tokens: int, sizes: tuple[int, int, int, int], rank: int, *, b_first: bool) -> Work:
    """Counts of `kronecker_lowering.TwoStepLinear`: two products, transpositions, a bias apart."""
    m1, n1, m2, n2 = sizes
    if b_first:
        half, rows = tokens * n1 * m2 * rank, tokens * (n1 + m2)
        macs = half * n2 + tokens * m2 * m1 * n1 * rank
        transposed = (half if min(n1, m2) > 1 else 0, tokens * m1 * m2 if min(m1, m2) > 1 else 0)
        apart = tokens * m1 * m2 if m2 > 1 else 0
    else:
        half, rows = tokens * n2 * m1 * rank, tokens * (n2 + m1)
        macs = half * n1 + tokens * m1 * m2 * n2 * rank
        transposed = (half if min(n2, m1) > 1 else 0, tokens * n1 * n2 if min(n1, n2) > 1 else 0)
        apart = tokens * m1 * m2 if m1 > 1 else 0
    moves = [*transposed, apart]
    operators = 2 + sum(moved > 0 for moved in moves)
    return Work(operators, macs, rows, half + tokens * m1 * m2, sum(moves))


def costs_of(recipe: Recipe) -> OperatorCosts:
    """The fitted numbers of a recipe. float16 weights are computed with as float32 ones."""
    if not recipe.integer_operators:
        kind = "none"
    elif not recipe.static_ranges:
        kind = "dynamic"
    else:
        kind = "int8" if recipe.activation_bits == 8 else "int16x8"
    return COSTS[f"{recipe.target}-{kind}"]


COSTS: dict[str, OperatorCosts] = {
    "tflite-none": OperatorCosts(0.431, 0.0232, 1.4, 0.0, 0.113),
    "tflite-dynamic": OperatorCosts(0.000868, 0.0189, 25.5, 0.478, 0.11),
    "tflite-int8": OperatorCosts(0.242, 0.0203, 5.04, 0.302, 0.146),
    "tflite-int16x8": OperatorCosts(1.39, 0.0538, 25.8, 0.0, 1.27),
    "onnx-none": OperatorCosts(2.88, 0.026, 4.35, 0.0309, 0.0954),
    "onnx-dynamic": OperatorCosts(2.84, 0.0132, 12.8, 0.616, 0.0969),
    "onnx-int8": OperatorCosts(3.36, 0.0116, 10.9, 0.258, 0.127),
}
