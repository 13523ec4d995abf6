"""`mobilebert push` against a stand-in of the hub: the artefact arrives, with a card the hub can read."""

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from tests.helpers import small_matcher

REPOSITORY = "me/my-matcher"


class Hub(ThreadingHTTPServer):
    """Takes what `huggingface_hub` sends for a small folder, and keeps it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.made: list[dict] = []
        self.tokens: set[str | None] = set()
        self.refuses = False
        self.address = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def answer(self, content: object, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            found = b""
            while size := int(self.rfile.readline(), 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self) -> None:
        self.answer({"id": REPOSITORY, "siblings": [], "sha": "0" * 40})

    def do_POST(self) -> None:
        raw = self.body()
        self.server.tokens.add(self.headers.get("Authorization"))
        if self.server.refuses:
            self.answer({"error": "no write access"}, 403)
        elif self.path == "/api/repos/create":
            self.server.made.append(json.loads(raw))
            self.answer({"url": f"{self.server.address}/{REPOSITORY}", "name": REPOSITORY, "id": REPOSITORY})
        elif self.path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            asked = json.loads(raw)["files"]
            modes = [
                {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                for one in asked
            ]
            self.answer({"files": modes})
        elif "/commit/" in self.path:
            for line in raw.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    self.server.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            oid = "1" * 40
            self.answer(
                {
                    "commitUrl": f"{self.server.address}/{REPOSITORY}/commit/{oid}",
                    "commitOid": oid,
                    "success": True,
                }
            )
        else:
            self.answer({"error": self.path}, 404)


@pytest.fixture
def hub():
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def push(hub, *words, **environment):
    return command(hub, "push", *words, **environment)


def command(hub, *words, **environment):
    address = f"http://127.0.0.1:{hub.server_address[1]}"
    given = {
        "HF_ENDPOINT": address,
        "HF_TOKEN": "hf_test",
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
    }
    return subprocess.run(
        [sys.executable, "-m", "mobilebert_export", *map(str, words)],
        env=os.environ | given | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def artefact():
    return small_matcher.artefact("onnx", "none")


def test_every_file_arrives_with_a_card_that_the_hub_reads(hub, artefact):
    done = push(hub, artefact, REPOSITORY, "--license", "apache-2.0", "--private")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("/commit/" + "1" * 40)
    assert hub.tokens == {"Bearer hf_test"}
    assert hub.made[0]["visibility"] == "private"
    expected = {file.name: file.read_bytes() for file in artefact.iterdir()}
    card = hub.files.pop("README.md").decode()
    assert hub.files == expected
    _, front, text = card.split("---\n", 2)
    assert yaml.safe_load(front) == {
        "language": "en",
        "license": "apache-2.0",
        "library_name": "mobilebert-runtime",
        "pipeline_tag": "text-classification",
        "tags": ["onnx", "onnxruntime", "none", "text-matching"],
    }
    assert f'snapshot_download("{REPOSITORY}")' in text
    assert "| same decision | 100.00% |" in text
    assert not (artefact / "README.md").exists()


def test_the_figures_that_ship_wrote_are_a_section_of_the_card(hub, artefact, tmp_path):
    folder = shutil.copytree(artefact, tmp_path / "mine")
    (folder / "README.md").write_text("# mine\n\nMeasured on dev.tsv.\n\n| CAT1 | 9 |\n", encoding="utf-8")
    assert push(hub, folder, REPOSITORY).returncode == 0
    text = hub.files["README.md"].decode()
    assert text.endswith("\n## Figures\n\nMeasured on dev.tsv.\n\n| CAT1 | 9 |\n")
    assert text.count("# mine") == 0
    assert "| same decision | 100.00% |" in text


def test_a_refusal_is_one_line(hub, artefact):
    hub.refuses = True
    done = push(hub, artefact, REPOSITORY)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "hf auth login" in done.stderr


def test_a_hub_that_cannot_be_reached_is_one_line(hub, artefact):
    done = push(hub, artefact, REPOSITORY, HF_ENDPOINT="http://127.0.0.1:9")  # nothing listens there
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


@pytest.mark.parametrize("name", ["name", "a/b/c", "me/na me"])
def test_a_name_that_is_no_repository_is_one_line(hub, artefact, name):
    done = push(hub, artefact, name)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert not hub.tokens


def test_a_damaged_folder_does_not_leave(hub, artefact, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(artefact, copy)
    (copy / "vocab.txt").write_text("x")
    done = push(hub, copy, REPOSITORY)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not hub.tokens


@pytest.mark.slow
def test_an_export_is_uploaded_as_it_was_written(hub, tmp_path):
    plain = ["--target", "onnx", "--quant", "none", "--seq-len", 32, "--buckets", 32, "--no-measure"]
    model = ["--model", small_matcher.model_directory(), "--out", tmp_path / "made"]
    done = command(hub, "export", *model, *plain, "--push", REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("/commit/" + "1" * 40)
    del hub.files["README.md"]
    assert hub.files == {file.name: file.read_bytes() for file in (tmp_path / "made").iterdir()}
