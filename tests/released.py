"""The files of a release, made from the build under test."""

import os
import pathlib
import shutil
import subprocess
import unittest

import support

RELEASE = support.REPOSITORY / "tools/release"
TIME = "1700000000"
ARCHITECTURE = os.uname().machine
BUILT = pathlib.Path(support.TOPRUN).parent
NEEDED = "rpmbuild", "rpm", "dpkg-deb", "minisign", "gpg", "gpgv", "curl", "cmake"


def needs_tools():
    lacking = [name for name in NEEDED if not shutil.which(name)]
    if lacking or not (BUILT / "CMakeCache.txt").exists():
        raise unittest.SkipTest(f"needs a build folder and {', '.join(lacking)}: run `tools/setup release`")


def made(folder, *arguments, built=BUILT, architecture=ARCHITECTURE, **environment):
    """What tools/release prints, having packed the build under test or another."""
    version = subprocess.check_output([support.TOPRUN, "version"], text=True).split()[1]
    done = subprocess.run([RELEASE, version, "--arch", architecture, "--built", built, "--out", folder, *arguments],
                          capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": TIME, **environment})
    return version, done
