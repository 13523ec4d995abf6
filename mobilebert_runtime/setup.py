"""The build of pyproject.toml, in a folder that is removed: one that stays here ends in the next wheel."""

from __future__ import annotations

import atexit
import shutil
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py


class RuntimeModules(build_py):
    """The modules beside this file, without it."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """(package, module, file) of every module."""
        return [one for one in super().find_package_modules(package, package_dir) if one[1] != "setup"]


folder = tempfile.mkdtemp(prefix="mobilebert-build-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
setup(options={"build": {"build_base": folder}}, cmdclass={"build_py": RuntimeModules})
