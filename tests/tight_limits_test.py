# ctest: TIMEOUT 300
"""Starts under limits that leave too little: each ends with an exit code and a reason in words, never by
an abort."""

import os
import pathlib
import resource
import shutil
import unittest

import support

JOB = ["--nproc-per-node", "2", "--no-python", "sh", "-c", "echo rank $RANK"]
NOBODY = "4711"  # root is free of the limit on processes


# Of many on one node: each holds its connection to the store until all have come. Perl, because a
# thousand Pythons take a minute to start.
RANKS = 1_500
ONE_OF_MANY = r"""
use Socket;
socket(my $store, PF_INET, SOCK_STREAM, 0) or die "no socket: $!";
connect($store, sockaddr_in($ENV{MASTER_PORT}, inet_aton("127.0.0.1"))) or die "no store: $!";
sub text { pack("Q<", length $_[0]) . $_[0] }
sub answer { my $bytes = ""; while (length $bytes < $_[0]) {
  sysread($store, $bytes, $_[0] - length $bytes, length $bytes) or die "no answer: $!" } $bytes }
syswrite $store, pack("C L<", 0, 0x3C85F7CE) . pack("C", 4) . text("n") . pack("q<", 1);
my $count = unpack("q<", answer(8));
syswrite $store, pack("C", 1) . text("all") . text("yes") if $count == $ENV{WORLD_SIZE};
syswrite $store, pack("C Q<", 6, 1) . text("all");
answer(1);
if ($ENV{RANK} == 0) { open(my $limits, "/proc/self/limits"); print grep /open files/, <$limits> }
"""


class TightLimits(support.TestCase):
    def start(self, preparation, *words, before=(), program=None):
        return self.run_to_end(*before, "bash", "-c", f'{preparation}; exec "$@"', "bash",
                               program or support.binary(), *(words or JOB))

    def assert_said(self, finished):
        """Of JOB: it has done its work, or says why it has not."""
        self.assertIn(finished.code, (0, 1), finished)
        self.assertNotIn("terminate called", finished.err)
        self.assertNotIn("what():", finished.err)
        self.assertNotIn("was killed by signal 6", finished.err)
        if finished.code == 0:
            self.assertEqual(sorted(finished.out.splitlines()), ["rank 0", "rank 1"], finished)
        else:
            self.assertIn("toprun: ", finished.err)

    def test_open_files(self):
        codes = []
        for files in range(3, 41):
            with self.subTest(files):
                finished = self.start(f"ulimit -n {files}")
                self.assert_said(finished)
                codes.append(finished.code)
                if finished.code != 0:
                    self.assertIn("Too many open files", finished.err)
        self.assertEqual(set(codes), {0, 1})  # or the limits tried are none

    def test_ranks_whose_pipes_and_connections_are_more_than_open_files(self):
        support.needs_program("perl")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and hard < 4 * RANKS:
            raise unittest.SkipTest(f"no more than {hard} open files are allowed here")
        finished = self.start("ulimit -S -n 1024", "--nproc-per-node", RANKS, "--no-python", "perl", "-e", ONE_OF_MANY)
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"Max open files +1024 ")  # the ranks' own is as it was
        self.assertNotIn("Too many open files", finished.err)

    def test_processes(self):
        support.needs_root()
        support.needs_program("setpriv")
        program = self.folder() / "toprun"
        shutil.copy(support.binary(), program)
        program.parent.chmod(0o755)
        user = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
        codes = set()
        for processes in range(1, 9):
            with self.subTest(processes):
                finished = self.start(f"cd /; ulimit -u {processes}", before=user, program=program)
                self.assert_said(finished)
                codes.add(finished.code)
                if finished.code != 0:
                    self.assertIn("ulimit -u", finished.err)
        self.assertEqual(codes, {0, 1})

    def test_memory(self):
        own_kib = os.stat(support.binary()).st_size // 1024
        codes = set()
        # Where the kernel cannot even load the program it kills it before its first instruction. Without
        # a thread less is enough than where there is just room for the first one's 8 MiB of stack.
        for kib in range(own_kib + 1_000, own_kib + 12_000, 250):
            with self.subTest(kib):
                finished = self.start(f"ulimit -v {kib}")
                self.assert_said(finished)
                codes.add(finished.code)
        self.assertEqual(codes, {0, 1})

    def test_file_size(self):
        logs = self.folder()
        for blocks in (0, 1):
            with self.subTest(blocks):
                finished = self.start(f"ulimit -f {blocks}", "--log-dir", logs, "--redirects", "3",
                                      "--report", logs / "report.json", "--nproc-per-node", "2",
                                      "--no-python", "sh", "-c", "head -c 9000 /dev/zero; echo >&2")
                self.assert_ok(finished)
                self.assertRegex(finished.err, rf"(?m)^toprun: cannot write to {logs}/\S+/std(out|err)\.log: File "
                                               r"too large; the job goes on, but its logs have gaps from now on$")
                self.assertIn(f"toprun: cannot write {logs}/report.json: File too large\n", finished.err)
                self.assertIn("2 ranks on 1 node, all ended with 0\n", finished.err)

    def test_descriptors_that_are_closed(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                started = self.folder()
                finished = self.start(f"exec {closed}", "--nproc-per-node", "2", "--no-python", "sh", "-c",
                                      f">{started}/$RANK")
                self.assert_ok(finished)
                self.assertEqual(sorted(os.listdir(started)), ["0", "1"], finished)

    def test_file_systems_that_are_not_there(self):
        support.needs_root()
        for prepared in ("mount -t tmpfs none /proc", "mount -t tmpfs none /sys",
                         "mount -t tmpfs -o ro none /tmp", "mount -t tmpfs none /etc",
                         "mount -t tmpfs -o size=4k none /tmp; cat /dev/zero >/tmp/full 2>/dev/null"):
            with self.subTest(prepared):
                program = pathlib.Path(support.binary())
                if str(program).startswith("/tmp/") and "none /tmp" in prepared:
                    prepared = f"exec 9<{program}; {prepared}"
                    program = "/proc/self/fd/9"
                finished = self.start(prepared, before=["unshare", "--mount"], program=program)
                self.assert_ok(finished)
                self.assert_said(finished)


if __name__ == "__main__":
    unittest.main()
