# SPDX-License-Identifier: Apache-2.0
"""A wheel that carries libbrick, libbrick-graph, libbrick-report and the attacher of PyTorch, so that a machine needs
nothing else.
They come from the folder BRICK_LIBRARY_PATH, or are built from the tree around this folder. Where neither is
there, the wheel is of Python alone, and the machine's own libraries are used."""
import os
import platform
import shutil
import subprocess
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.environ.get("BRICK_LIBRARY_PATH", "")
CARRIES = bool(FOLDER) or os.path.exists(os.path.join(TREE, "src", "lib", "brick.map"))
LIBRARIES = ("libbrick.so.0", "libbrick-graph.so.0", "libbrick-report.so.0")
ATTACHERS = ("libbrick-torch.so",)  # where the machine has them
STAND_ON = ("libjansson.", "libdeflate.")  # of libbrick-report, beside the C library


def built(scratch):
    """A folder with the libraries, built from the tree."""
    build, installed = os.path.join(scratch, "build"), os.path.join(scratch, "installed")
    subprocess.run(["cmake", "-S", TREE, "-B", build, "-Wno-dev", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], check=True)
    targets = ["brick-report"] + ["brick-torch"] * (platform.machine() == "x86_64")
    subprocess.run(["cmake", "--build", build, "--target", *targets, "--parallel", str(os.cpu_count() or 1)], check=True)
    for component in ("library", "results"):
        subprocess.run(["cmake", "--install", build, "--strip", "--component", component, "--prefix", installed],
                       check=True)
    folder = next(folder for folder, _, names in os.walk(installed) if LIBRARIES[0] in names)
    for name in ATTACHERS:
        if os.path.exists(os.path.join(build, "lib", name)):
            shutil.copy(os.path.join(build, "lib", name), folder)
            subprocess.run(["strip", os.path.join(folder, name)], check=False)
    return folder


class BuildWithLibraries(build_py):
    """Puts the libraries beside the modules."""

    def run(self):
        super().run()
        if not CARRIES:
            return
        target = os.path.join(self.build_lib, "brick", "lib")
        os.makedirs(target, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = FOLDER or built(scratch)
            for name in LIBRARIES:
                shutil.copy(os.path.join(folder, name), target)
            for path in (os.path.join(folder, below, name) for name in ATTACHERS for below in ("", "brick")):
                if os.path.exists(path):
                    shutil.copy(path, target)
            needed = subprocess.run(["ldd", os.path.join(folder, LIBRARIES[2])], capture_output=True, text=True,
                                    check=True).stdout
        for words in map(str.split, needed.splitlines()):
            if len(words) > 2 and words[0].startswith(STAND_ON):
                shutil.copy(words[2], os.path.join(target, words[0]))


class Wheel(bdist_wheel):
    """For any Python 3 on this kind of machine."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class WithLibraries(Distribution):
    """Says that the package is of one kind of machine."""

    def has_ext_modules(self):
        return CARRIES


setup(distclass=WithLibraries, cmdclass={"build_py": BuildWithLibraries, "bdist_wheel": Wheel})
