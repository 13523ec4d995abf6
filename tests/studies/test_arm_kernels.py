"""Promise of the Arm estimate: every cycle and product is the model's, every ratio that of recorded sums."""

import pytest

from android_bench.emulation import emulator
from android_bench.emulation.arm_instructions import Block
from android_bench.measuring.rounds import MeasurementError
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from studies.latency import arm_kernels, core_model

FMLA = [(0x4F801000 | register).to_bytes(4, "little") for register in range(16, 24)]  # v16 += v0 * v0[0], …
SDOT = bytes.fromhex("90e0804f")
SMMLA = bytes.fromhex("90a4804e")
RET = bytes.fromhex("c0035fd6")


@pytest.fixture
def llvm():
    """The core models."""
    try:
        tools.find("llvm")
    except ToolError as error:
        pytest.skip(f"not run: {error}")


def test_a_wide_core_takes_fewer_cycles_than_a_small_one(llvm):
    small, wide = (core_model.cycles([tuple(FMLA), (RET,)], core) for core in ("cortex-a55", "neoverse-v2"))
    assert small[0] > wide[0]
    assert wide[0] == pytest.approx(2, rel=0.1), "a Neoverse V2 has four units, which forward their sums"
    assert len(small) == 2


def test_a_cortex_a55_has_one_wide_unit_and_narrow_loads(llvm):
    loads = [bytes.fromhex(code) for code in ("0000c03d", "000040fd", "000440ad")]  # q0; d0; q0 and q1
    narrow = bytes.fromhex("10cc210e")  # fmla of 64 bits
    assert core_model.a55_limits([tuple(FMLA), (SDOT, RET), tuple(loads), (narrow,)]) == [8, 1, 6, 0.5]


def test_products_are_counted_by_instruction(llvm):
    assert core_model.disassemble({SDOT})[SDOT].split() == ["sdot", "v16.4s,", "v4.16b,", "v0.4b[0]"]
    assert arm_kernels.products((*FMLA, SDOT, SMMLA, RET)) == 8 * 4 + 16 + 32
    with pytest.raises(MeasurementError, match="knows 0 of 1 instructions"):
        core_model.disassemble({b"\xff\xff\xff\xff"})


def test_a_model_sums_blocks_by_what_their_kernels_work_for(llvm):
    blocks = [
        Block(0, "xnn_f32_gemm_x", tuple(FMLA), 1, 10),
        Block(64, "xnn_f32_vadd_ukernel__neon_u8", (RET,), 0, 3),
    ]
    in_order, ideal = arm_kernels.CORES[:2]
    found = arm_kernels.model(blocks, in_order)
    assert arm_kernels.model(blocks, ideal)["operators"]["float products"] == 10 * 8
    one, other = core_model.cycles([block.code for block in blocks], "cortex-a55")
    assert found["operators"] == {
        "float products": round(10 * one),
        "additions and scales": round(3 * other),
    }
    assert found["cycles"] == sum(found["operators"].values())
    assert found["inner_loops"][0]["products"] == 32
    counted = arm_kernels.count(blocks)
    assert counted["instructions"] == 83
    assert counted["kernels"] == {"xnn_f32_gemm_x": 80, "xnn_f32_vadd_ukernel__neon_u8": 3}


@pytest.mark.parametrize(
    ("kernel", "operator"),
    [
        ("xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c8__neoni8mm", "int8 products"),
        ("kai_run_matmul_clamp_f32_qai8dxp4x4_qsi8cxp4x4_16x4_neon_dotprod", "int8 products"),
        ("kai_kernel_matmul_clamp_f32_qai8dxp4x8_qsi8cxp4x8_16x4_neon_i8mm", "int8 products"),
        ("xnn_f32_qc8w_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_ld128", "float products"),
        ("xnn_f32_raddstoreexpminusmax_ukernel__neonfma_rr1_lut64_p2_u16_acc2", "softmax"),
        ("xnn_f32_qs8_vcvt_ukernel__neonv8_u32", "int8 ↔ float"),
        ("kai_run_lhs_quant_pack_qai8dxp_f32", "int8 ↔ float"),
        ("xnn_f32_vmulc_ukernel__neon_u8", "additions and scales"),
        ("xnn_qs8_packw_gemm_gio_ukernel_x16c4__scalar", "packing"),
        ("xnn_xx_transposev_ukernel__1x1_scalar_memcpy", "copies"),
        ("xnn_compute_gemm", "else"),
    ],
)
def test_kernels_are_told_apart(kernel, operator):
    assert arm_kernels.operator_of(kernel) == operator


def test_the_page_gives_ratios_of_the_recorded_sums():
    def files(total, unit):
        return {
            name: {total: number, "operators": {"float products": number}, **unit}
            for name, number in (("float", 400), ("int8", 100))
        }

    loop = {"kernel": "xnn_k", "instructions": 9, "cycles": 4.0, "products": 64, "share_of_kernel": 1.0}
    record = {
        "command": "python -m studies.latency.arm_kernels float int8 --out OUT",
        "tokens": 128,
        "runtime": "ai-edge-litert 2.3.0",
        "artefacts": {"float": {}, "int8": {}},
        "measured_in_emulation": {
            name: files("instructions", {"kernels": {"xnn_k": 50}}) for name in arm_kernels.PROCESSORS
        },
        "modelled": {core.name: files("cycles", {"inner_loops": [loop]}) for core in arm_kernels.CORES},
    }
    text = arm_kernels.page(record)
    for core in arm_kernels.CORES:
        assert f"| {core.name} | 0.25 | 0.25 | {core.note} |" in text
        assert f"| {core.name} | int8 | `xnn_k` | 9 | 4.0 | 16.0 |" in text
    assert {core.processor for core in arm_kernels.CORES} <= set(arm_kernels.PROCESSORS)
    assert set(arm_kernels.PROCESSORS) <= emulator.PROCESSORS.keys()
