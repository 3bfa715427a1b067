# ctest: TIMEOUT 400 LABELS cluster
"""One process per rank, started by srun or mpirun: what the ranks find, and what becomes of all when one
fails."""

import shutil
import unittest

import cluster
import support
from cluster import column, shown, shows
from mpi_test import MpiCase, counts

TOPRUN = support.TOPRUN
STAYS = "exec sleep 60"

# Writes its error file as PyTorch's @record does, then dies of what it raised.
RAISES = """\
import json, os, sys, time
if os.environ["RANK"] != "2":
    time.sleep(60)
message = {"message": "ValueError: loss is nan", "extraInfo": {"timestamp": str(int(time.time()))}}
with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
    json.dump({"message": message}, file)
raise ValueError("loss is nan")
"""


class Failures:
    """The same under every engine; start() gives the words that start four ranks on two hosts."""

    def assert_stopped(self, finished, temporary, code, *texts):
        self.assertEqual(finished.code, code, finished)
        for text in texts:
            self.assertEqual(finished.err.count(text), 1, (text, finished))
        self.assertIn("3 were stopped", finished.err)
        self.assertEqual(list(temporary.iterdir()), [], "left in the folder for temporary files")

    def test_a_rank_that_fails_stops_all(self):
        for then, code, words in [
                ("echo 'loss is nan' >&2; exit 7", 7, "rank 2 on n1 ended with exit code 7\n"),
                ("kill -9 $$", 137, "rank 2 on n1 was killed by SIGKILL\n")]:
            for options in self.OPTIONS:
                with self.subTest((code, options)):
                    temporary, started = self.folder(), self.folder()
                    all_run = f"touch {started}/$RANK; until [ $(ls {started} | wc -l) = 4 ]; do sleep 0.05; done"
                    finished = self.four(temporary, options, TOPRUN, *shows(
                        "RANK", then=f"{all_run}; [ $RANK != 2 ] || {{ {then}; }}; {STAYS}"))
                    self.assert_stopped(finished, temporary, code, f"toprun: {words}")
                    if code == 7:
                        self.assertRegex(finished.err, r"last lines (.*\n)?.* loss is nan\n")

    def test_an_exception_is_told_by_its_error_file(self):
        script, temporary = self.folder() / "raises.py", self.folder()
        script.write_text(RAISES)
        finished = self.four(temporary, [], TOPRUN, "--no-python", shutil.which("python3"), script)
        self.assert_stopped(finished, temporary, 1, "it said     ValueError: loss is nan\n")

    def test_a_run_that_ends_well(self):
        temporary = self.folder()
        finished = self.four(temporary, [], TOPRUN, *shows("RANK"))
        self.assert_ok(finished)
        self.assertEqual(list(temporary.iterdir()), [])
        self.assertEqual(column(shown(finished.out), "RANK"), list("0123"))
        self.assertEqual(finished.err.count("4 ranks on 2 nodes, all ended with 0"), 1, finished)

    def test_logs_of_all_ranks(self):
        logs = self.folder()
        finished = self.four(self.folder(), [], TOPRUN, "--log-dir", logs, "--tee", "3",
                             *shows("RANK"))
        self.assert_ok(finished)
        said = sorted(path.read_text() for path in logs.glob("*/attempt_0/*/stdout.log"))
        self.assertEqual(said, [f"shown RANK={rank}\n" for rank in range(4)])


class UnderSrun(Failures, cluster.SlurmCase):
    UP = ("--hosts", "2", "--racks", "1", "--slurm")
    OPTIONS = ([], ["--kill-on-bad-exit=1"])

    def four(self, temporary, options, *words):
        return self.srun("-N2", "--ntasks-per-node=2", *options, *words,
                         env={"TMPDIR": str(temporary)})

    def test_signals_reach_each_rank_once(self):
        folder = self.folder()
        run = self.start("ctl", "srun", "-N2", "-n4", TOPRUN, "--no-python", "bash", "-c",
                         f"trap 'echo usr1 >>{folder}/$RANK; exit 0' USR1; : >{folder}/$RANK; "
                         f"{support.OBEDIENT}")
        self.wait_for_files(folder, 4)
        self.assert_ok(self.login("scancel", "--user=root", "--signal=USR1"))
        self.assert_ok(run.wait(30))
        self.assertEqual({path.read_text() for path in folder.iterdir()}, {"usr1\n"})

    def test_standard_input_and_pmi_are_the_engine_s(self):
        finished = self.begin(
            *self.cluster.on("ctl", "sh", "-c", 'echo hello | srun "$@"', "-", "-N2", "-n4",
                             "--mpi=pmi2", TOPRUN, "--no-python", "bash", "-c",
                             "read line; [ -S /proc/self/fd/$PMI_FD ] && echo $line $RANK")).wait(60)
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.split("\n")), ["", *(f"hello {rank}" for rank in range(4))])


class OwnNameIsLoopback(cluster.SlurmCase):
    """As Debian's installer leaves it: those beside the root reach it by 127.0.1.1, the others cannot."""

    UP = ("--hosts", "2", "--racks", "1", "--slurm", "--own-name", "127.0.1.1")

    def test_all_ranks_get_an_address_that_all_reach(self):
        for name, words in {"in place": ["-n4", TOPRUN], "agents": ["--ntasks-per-node=1", TOPRUN, "--nproc-per-node", "2"]}.items():
            with self.subTest(name):
                finished = self.srun("-N2", *words, *shows("RANK", "MASTER_ADDR"))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "RANK"), list("0123"))
                address, = set(column(rows, "MASTER_ADDR"))
                self.assertNotRegex(address, r"^127\.")


class UnderMpirun(Failures, MpiCase):
    OPTIONS = ([], ["--map-by", "slot"])

    def four(self, temporary, options, *words):
        return self.mpirun("--host", counts(n0=2, n1=2), "-n", "4", *options,
                           "-x", f"TMPDIR={temporary}", *words)


if __name__ == "__main__":
    unittest.main()
