"""Promise: the search lists every factor shape within a budget, and its rules are those it counted."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from mobilebert_models import preset
from mobilebert_models.kronecker.factor_shapes import costs, plan, read_rules, shape_rules
from mobilebert_runtime.errors import ModelError
from studies.common import script
from studies.kronecker import shape_search
from studies.kronecker.shape_search import search
from tests.helpers.networks import SMALL_KRONECKER as SMALL


@pytest.mark.parametrize(("rank", "hidden", "wide"), [(1, 4, 6), (2, 6, 4)])
def test_search_lists_every_shape_within_the_budget_and_no_other(rank, hidden, wide):
    """Against a loop over all divisors that counts whole encoders."""
    small = {"vocab_size": 8, "hidden_size": hidden, "intermediate_size": wide, "num_attention_heads": 2}
    config = replace(SMALL, **small, num_hidden_layers=1, max_position_embeddings=4)
    every = all_shapes(config, rank)
    parameters, flops = (int(np.median([c[u] for c in every.values()])) for u in ("parameters", "flops"))
    expected = {
        shapes: (c["parameters"], c["flops"])
        for shapes, c in every.items()
        if c["parameters"] <= parameters and c["flops"] <= flops
    }
    found = search(config, max_parameters=parameters, max_flops=flops, rank=rank, seq_len=4, top=10**6)
    assert {(c.attention, c.feed_forward, c.embedding): (c.parameters, c.flops) for c in found} == expected
    assert 0 < len(found) < len(every)
    assert [c.parameters for c in found] == sorted((c.parameters for c in found), reverse=True)


def all_shapes(config, rank):
    found = {}
    narrow, wide = (
        [d for d in range(1, size + 1) if size % d == 0]
        for size in (config.hidden_size, config.intermediate_size)
    )
    for attention, feed_forward, word in product(product(narrow, narrow), product(wide, narrow), narrow):
        rules = shape_rules(config, attention, feed_forward, word, rank)
        try:
            layers = plan(config, rules)
        except ModelError:
            continue
        if all(layer.parameters_after < layer.parameters_before for layer in layers):
            found[attention, feed_forward, word] = costs(replace(config, kronecker=rules), 4)
    return found


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        script.run(shape_search.main, list(map(str, arguments)))
    return end.value.code


def test_script_writes_rules_that_cost_what_it_says(tmp_path):
    out, factors = tmp_path / "found.json", tmp_path / "rules.json"
    limits = ("--max-parameters", 4_000_000, "--max-flops", 2_000_000_000, "--top", 3)
    assert run("minilm-l6", out, *limits) == 0
    candidates = json.loads(out.read_text())["candidates"]
    assert len(candidates) == 3
    factors.write_text(json.dumps(candidates[0]["rules"]))
    counted = costs(replace(preset("minilm-l6"), kronecker=read_rules(factors)))
    assert counted == {name: candidates[0][name] for name in ("parameters", "flops")}


def test_a_budget_that_nothing_meets_is_one_line(tmp_path, capsys):
    assert run("minilm-l6", tmp_path / "found.json", "--max-parameters", "10") == 2
    assert run("minilm-l6", tmp_path / "found.json") == 2
    said = capsys.readouterr().err
    assert "raise a limit" in said
    assert "--max-parameters, --max-flops or both" in said
    assert said.count("\n") == 2
