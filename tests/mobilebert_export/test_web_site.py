"""`mobilebert web`: a site whole or not at all; what is missing is one line that says what to run."""

import http.client
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mobilebert_export import web_site
from mobilebert_export.command_line import program as cli
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_export.web_site import LISTING, RUNTIMES, SITE_FILES, serve_site, write_site
from mobilebert_runtime.card import TOKEN_CLASSIFICATION
from mobilebert_runtime.errors import ArtefactError, OptionError, ToolError
from mobilebert_runtime.files import file_sha256
from tests.helpers import tiny_tasks


@pytest.fixture
def artefact(onnx_artefact, tmp_path):
    folder = tmp_path / "matcher"
    shutil.copytree(onnx_artefact, folder)
    recipe = {"recipe": {"name": "onnx-none"}, "model": {"name": "matcher-open-m", "sha256": "0" * 64}}
    (folder / "recipe.json").write_text(json.dumps(recipe))
    write_checksums(folder)
    return folder


@pytest.fixture
def node_modules(tmp_path):
    """The runtime's package with its files, which hold nothing."""
    versions = json.loads((SITE_FILES / "runtimes.json").read_text())
    for package, inner, files in RUNTIMES.values():
        folder = tmp_path / "node_modules" / package
        (folder / inner).mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"version": versions[package]}))
        for file in files:
            (folder / inner / file).write_text(file)
    return tmp_path / "node_modules"


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_site_holds_the_page_the_model_and_the_runtime_it_needs(artefact, node_modules, tmp_path):
    [entry] = write_site([artefact], tmp_path / "site", node_modules)
    found = names(tmp_path / "site")
    assert {"index.html", "app.js", "worker.js", "service-worker.js", "style.css"} <= found
    assert {"wasm/ort-wasm-simd-threaded.wasm", "models/matcher/model.onnx", "models.json"} <= found
    assert not any("litert" in name or name == "runtimes.json" for name in found)
    assert entry["checksums"] == file_sha256(artefact / "SHA256SUMS")
    assert entry["licence"] == "Apache-2.0"
    first = json.loads((tmp_path / "site" / LISTING).read_text())["version"]
    (node_modules / "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm").write_text("another")
    write_site([artefact], tmp_path / "site", node_modules, licence="mine")
    listing = json.loads((tmp_path / "site" / LISTING).read_text())
    assert listing["version"] != first
    assert listing["models"][0]["licence"] == "mine"


def test_the_page_asks_no_other_site(artefact):
    for file in ("index.html", "app.js", "service-worker.js", "style.css"):
        text = (SITE_FILES / file).read_text(encoding="utf-8")
        assert not [
            part
            for part in text.split("http")[1:]
            if part.startswith(("://", "s://")) and "w3.org" not in part[:20]
        ]


def test_what_is_wrong_is_said_before_anything_is_written(artefact, node_modules, tmp_path):
    out = tmp_path / "site"
    with pytest.raises(ToolError, match=r"npm install onnxruntime-web@[\d.]+` and give --node-modules"):
        write_site([artefact], out, tmp_path)
    (node_modules / "onnxruntime-web/package.json").write_text('{"version": "1.0.0"}')
    with pytest.raises(ToolError, match=r"is version 1\.0\.0, the page needs"):
        write_site([artefact], out, node_modules)
    with pytest.raises(OptionError, match="two artefacts are named matcher"):
        write_site([artefact, artefact], out, node_modules)
    (artefact / "model.onnx").write_bytes(b"")
    with pytest.raises(ArtefactError, match="damaged"):
        write_site([artefact], out, node_modules)
    names_ = tiny_tasks.write(tmp_path / "names", TOKEN_CLASSIFICATION)
    with pytest.raises(ArtefactError, match="is for token-classification, which the page does not have"):
        write_site([names_], out, node_modules)
    assert not out.exists()


def test_served_with_the_headers_that_threads_need(artefact, node_modules, tmp_path):
    write_site([artefact], tmp_path / "site", node_modules)
    with serve_site(tmp_path / "site", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asked = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        asked.request("GET", "/wasm/ort-wasm-simd-threaded.wasm")
        answer = asked.getresponse()
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "application/wasm"
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        server.shutdown()


def test_the_command_s_options_fit_each_other(artefact, node_modules, tmp_path, capsys):
    def says(*words):
        with pytest.raises(SystemExit) as ended:
            cli.main(["web", *map(str, words)])
        return ended.value.code, capsys.readouterr()

    site, given = tmp_path / "site", ("--node-modules", node_modules)
    assert says(artefact, *given) == (2, capsys.readouterr()._replace(err=MISSING))
    code, told = says(artefact, "--out", site, *given)
    assert (code, told.out) == (0, f"{site}\n")
    code, told = says(artefact, "--out", site, *given)
    assert code == 2
    assert "exists already" in told.err
    assert says(artefact, "--out", site, "--force", *given)[0] == 0
    code, told = says(site, "--out", tmp_path / "other")
    assert code == 2
    assert "is a site" in told.err


MISSING = "mobilebert: --out is missing; give the site's folder, or --serve to show it here\n"


def test_the_built_page_comes_with_the_package():
    root = Path(web_site.__file__).parents[1]
    declared = (root / "pyproject.toml").read_text()
    assert 'mobilebert_export = ["samples/*", "site_files/*", "py.typed"]' in declared
    assert {"index.html", "app.js", "worker.js", "runtimes.json"} <= {
        file.name for file in SITE_FILES.iterdir()
    }


def test_a_site_is_written_where_torch_is_not_installed(artefact, node_modules, tmp_path):
    """The command belongs to the base installation."""
    program = "mobilebert_export.command_line.program"
    script = f"import sys; sys.modules['torch'] = None; from {program} import main; main()"
    words = ["web", artefact, "--node-modules", node_modules, "--out", tmp_path / "site"]
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [entry] = json.loads((tmp_path / "site" / LISTING).read_text())["models"]
    assert entry["licence"] == "Apache-2.0"
