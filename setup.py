"""The build of pyproject.toml, in a folder that is removed: one that stays here ends in the next wheel."""

import atexit
import shutil
import tempfile

from setuptools import setup

folder = tempfile.mkdtemp(prefix="mobilebert-build-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
setup(options={"build": {"build_base": folder}})
