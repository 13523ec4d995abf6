"""scripts/set_up.py: what a machine lacks in one line; an interrupted installation goes on."""

import importlib.util
import re
import stat
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def set_up():
    specification = importlib.util.spec_from_file_location("set_up", ROOT / "scripts" / "set_up.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (("Linux", "x86_64", (3, 11)), None),
        (("Linux", "x86_64", (3, 13)), None),
        (("Darwin", "arm64", (3, 12)), None),
        (("Windows", "AMD64", (3, 12)), "use WSL"),
        (("Linux", "aarch64", (3, 12)), "litert-converter has no build"),
        (("Darwin", "x86_64", (3, 12)), "Apple silicon"),
        (("Linux", "x86_64", (3, 10)), "Python 3.10: expected 3.11, 3.12 or 3.13"),
        (("Linux", "x86_64", (3, 14)), "make export PYTHON="),
    ],
)
def test_what_a_machine_lacks_is_one_line(set_up, machine, says):
    found = set_up.missing(*machine)
    assert (found is None) if says is None else (says in found and "\n" not in found)


def installer(folder, fails):
    """A stand-in for `pip install` that notes its arguments and fails for some files."""
    program = folder / "pip"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"open({str(folder / 'calls')!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"
        f"text = open(sys.argv[-1]).read()\nsys.exit(any(one in text for one in {fails!r}))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return [str(program), "install", "--requirement"]


def test_an_interrupted_installation_goes_on_with_the_part_it_was_at(set_up, tmp_path):
    some = [{"a": "a==1\n"}, {"b": "b==1\n"}, {"c": "c==1\n"}]
    parts = set_up.Parts(tmp_path / "parts")
    with pytest.raises(set_up.SetupError, match="could not install b"):
        parts.install_each(some, installer(tmp_path, ["b=="]))
    (tmp_path / "calls").unlink()
    parts.install_each(some, installer(tmp_path, []))
    calls = (tmp_path / "calls").read_text().splitlines()
    # What was begun is installed over whatever half is there; what was done is not installed again.
    assert any("--ignore-installed" in call and str(parts.file(some[1])) in call for call in calls)
    assert not any(str(parts.file(some[0])) in call for call in calls)
    assert all(parts.done(part) for part in some)
    (tmp_path / "calls").unlink()
    parts.install_each(some, installer(tmp_path, []))
    assert not (tmp_path / "calls").exists()


def test_a_lock_that_comes_back_is_installed_again(set_up, tmp_path):
    first, second = {"a": "a==1\n"}, {"a": "a==2\n"}
    parts = set_up.Parts(tmp_path / "parts")
    for part in (first, second, first):
        parts.forget_others([part])
        assert not parts.done(part)
        parts.install(part, installer(tmp_path, []))
    assert len((tmp_path / "calls").read_text().splitlines()) == 3


def test_every_package_of_the_locks_has_its_hashes(set_up):
    locked = {}
    for name in ("requirements.lock", "requirements-dev.lock"):
        found = set_up.packages((ROOT / name).read_text())
        assert found
        assert not set(found) & set(locked)
        locked |= found
    for name, lines in locked.items():
        assert re.fullmatch(r"\S+==\S+( ; [^\\]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+", lines), (
            name
        )
    assert "adbutils" not in set_up.packages((ROOT / "requirements.lock").read_text())


def test_the_makefile_needs_no_program_that_macos_lacks():
    text = (ROOT / "Makefile").read_text()
    assert not re.search(r"sha256sum|grep -P|sed -i|readlink -f|xargs -P", text)
    clean = re.search(r"^clean:.*\n((?:\t.*\n)+)", text, re.MULTILINE)[1]
    assert "artefacts" not in clean
    done = subprocess.run(
        ["make", "--dry-run", "clean"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "artefacts" not in done.stdout
