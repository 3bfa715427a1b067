# ctest: TIMEOUT 60
"""The binary itself: one static file, and nothing else."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

import support

MAX_BYTES = 10 * 1024 * 1024
# Debian's static libraries bring 1,268 with them; with our own code the program has several thousand.
LIBRARIES_CANARIES = 2_500


def readelf(*options):
    support.needs_program("readelf")
    return subprocess.check_output(["readelf", "--wide", *options, support.binary()], text=True)


class TheFile(support.TestCase):
    def test_it_is_small(self):
        self.assertEqual(pathlib.Path(support.binary()).read_bytes()[:4], b"\x7fELF")
        self.assertLessEqual(os.path.getsize(support.binary()), MAX_BYTES)

    def test_it_is_static_and_position_independent(self):
        self.assertRegex(readelf("--file-header"), r"Type: +DYN")
        self.assertNotIn("NEEDED", readelf("--dynamic"))
        self.assertNotIn("INTERP", readelf("--program-headers"))

    def test_nothing_writable_is_executed_and_addresses_are_fixed_at_the_start(self):
        self.assertRegex(readelf("--program-headers"), r"(?m)^ +GNU_STACK .* RW +0(?:x\w+)?$")
        self.assertRegex(readelf("--program-headers"), r"(?m)^ +GNU_RELRO ")
        self.assertNotRegex(readelf("--program-headers"), r"(?m)^ +LOAD .* RWE ")
        self.assertRegex(readelf("--dynamic"), r"FLAGS_1\).*\bNOW\b")

    def test_our_own_code_has_canaries(self):
        support.needs_program("objdump")
        if platform.machine() != "x86_64":
            self.skipTest(f"canaries are counted in x86_64 code, this is {platform.machine()}")
        code = subprocess.check_output(["objdump", "--disassemble", "--no-show-raw-insn",
                                        support.binary()], text=True)
        self.assertGreater(len(re.findall(r"%fs:0x28", code)), LIBRARIES_CANARIES)

    def test_it_is_stripped(self):
        self.assertNotRegex(readelf("--section-headers"), r"\.(symtab|debug_info)\b")


class AloneInAnEmptyRoot(support.TestCase):
    """A root folder with nothing in it but the binary: no /dev, no /proc, no libraries."""

    def in_root(self, *argv):
        support.needs_root()
        support.needs_program("chroot")
        root = self.folder()
        shutil.copy(support.binary(), root / "toprun")
        finished = self.run_to_end("chroot", root, "/toprun", *argv, limit=20)
        self.assertEqual(set(os.listdir(root)) - {"toprun", "tmp"}, set())
        return finished

    def test_version(self):
        finished = self.in_root("version")
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"\Atoprun \d+\.\d+\.\d+\n\Z")

    def test_it_starts_workers(self):
        finished = self.in_root("--nproc-per-node", "3", "--no-python", "/toprun", "version")
        self.assert_ok(finished)
        self.assertEqual(len(re.findall(r"^toprun \d", finished.out, re.M)), 3)
        self.assertIn("3 ranks on 1 node, all ended with 0", finished.err)

    def test_a_missing_program_is_named(self):
        finished = self.in_root("--no-python", "/no/such")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, ".*/no/such.*")


if __name__ == "__main__":
    unittest.main()
