"""Compile library/jni, the bridge from Java to ONNX Runtime, without Android's NDK.

The bridge calls nothing of a C library, so zig's compiler needs no system to build it for: the same source
becomes the library for a phone and, for tests, one that this machine's Java loads.
"""

import os
from pathlib import Path

from android_bench.build_app import java
from android_bench.toolchain import tools

SOURCE = java.ANDROID_BENCH / "library" / "jni" / "onnx_bridge.c"
NAME = "libmobilebert_onnx.so"
RUNTIME_NAME = "libonnxruntime.so"
PHONE = "aarch64-linux-android"
# Phones from Android 15 on may have pages of 16 KiB; a library for them loads on 4 KiB too.
PAGE_BYTES = 16384
FLAGS = (
    *("-shared", "-fPIC", "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"),
    *("-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-sanitize=all"),
    *(f"-Wl,-z,max-page-size={PAGE_BYTES}", "-Wl,--no-undefined", f"-Wl,-soname,{NAME}"),
)


def build(triple: str, runtime: Path, folder: Path) -> Path:
    """Compile the bridge into a folder.

    Args:
        triple: architecture, system and C library as zig names them: `PHONE`, "x86_64-linux-gnu".
        runtime: ONNX Runtime's library for that system; the bridge will ask for exactly this version.
        folder: where the library and the compiler's cache go.

    Raises:
        BuildError: the compiler refused the source.
        ToolError: the compiler or the headers were not fetched.
    """
    zig, headers = tools.find("zig"), tools.find("headers")
    libc = zig / "ziglang" / "lib" / "libc" / "include"
    # ONNX Runtime's header includes <stdlib.h> and <string.h>: musl's, which zig carries; declarations only.
    declared = (
        headers / "usr/include/android",
        headers / "usr/include/onnxruntime",
        libc / f"{triple.partition('-')[0]}-linux-musl",
        libc / "generic-musl",
    )
    includes = [part for path in declared for part in ("-isystem", path)]
    folder.mkdir(parents=True, exist_ok=True)
    cache = folder / ".zig-cache"
    places = {"ZIG_GLOBAL_CACHE_DIR": str(cache), "ZIG_LOCAL_CACHE_DIR": str(cache)}
    out = folder / NAME
    command = [
        zig / "ziglang" / "zig",
        "cc",
        "-target",
        triple,
        *FLAGS,
        *includes,
        "-o",
        out,
        SOURCE,
        runtime,
    ]
    java.run(command, os.environ | places)
    return out


def phone_libraries(folder: Path) -> list[Path]:
    """ONNX Runtime's library for 64-bit Arm Android and the bridge to it; raises as `build` does."""
    runtime = tools.find("onnx-android") / RUNTIME_NAME
    return [runtime, build(PHONE, runtime, folder)]
