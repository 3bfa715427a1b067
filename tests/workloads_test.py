# ctest: TIMEOUT 600 SANITIZED ONLY Restart LABELS torch
"""Programs as users have them, unchanged, on two agents of two ranks: what they compute, what they
save, how they fail, how they go on after a restart; and their environment beside torchrun's."""

import json
import os
import re
import signal
import unittest

import support
from support import EXAMPLES, REPOSITORY, two_nodes

WORKLOADS = REPOSITORY / "tests/workloads"
CPU_ONLY = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
RANKS = 4
LIMIT_S = 150  # on a loaded machine; 10 s on an idle one
RESTARTS = 2   # in one run, each after the exit of another rank


class Workload(support.TestCase):
    def setUp(self):
        self.env = {**CPU_ONLY, "PYTHON_EXEC": support.python()}

    def start_on_two_nodes(self, *argv, nproc=2, environments=({}, {})):
        port = support.free_port()
        return [self.begin(support.binary(), *two_nodes(port, rank, nproc), *argv,
                           env={**self.env, **environments[rank]}) for rank in (0, 1)]

    def end(self, runs):
        finished = [run.wait(LIMIT_S) for run in runs]
        for run in runs:
            self.assert_nothing_left(run)
        return finished

    def on_two_nodes(self, *argv, **options):
        return self.end(self.start_on_two_nodes(*argv, **options))

    def on_one_node(self, nproc, *argv, env=None):
        return self.toprun("--nproc-per-node", nproc, *argv, env={**self.env, **(env or {})}, limit=LIMIT_S)

    def expect(self, finished, lines):
        """All ended well, and together printed these lines, in any order."""
        for end in finished:
            self.assert_ok(end)
        self.assertEqual(sorted("".join(end.out for end in finished).splitlines()), sorted(lines))


class Training(Workload):
    def test_accelerate(self):
        if not support.has_module(support.python(), "accelerate"):
            self.skipTest(f"{support.python()} has no accelerate: run `tools/setup --python`")
        self.expect(self.on_two_nodes(WORKLOADS / "accelerate_training.py", self.folder()),
                    ["once per node"] * 2 + [f"rank {rank} trained" for rank in range(RANKS)])

    def test_fully_sharded(self):
        self.expect(self.on_two_nodes(WORKLOADS / "sharded_training.py", environments=(support.WARM_TRAINING,) * 2),
                    [f"rank {rank}: {kind} equals one process" for rank in range(RANKS)
                     for kind in ("fsdp1", "fsdp2")])

    def test_a_checkpoint_of_four_ranks_is_loaded_by_three(self):
        folder = self.folder()
        script = WORKLOADS / "sharded_checkpoint.py"
        self.expect(self.on_two_nodes(script, "save", folder, environments=(support.WARM,) * 2),
                    [f"rank {rank} of 4: save done" for rank in range(4)])
        self.assertEqual(len(list(folder.glob("*.distcp"))), 4)
        self.expect([self.on_one_node(3, script, "load", folder, env=support.WARM)],
                    [f"rank {rank} of 3: load done" for rank in range(3)])

    def test_a_store_of_the_user_s_own(self):
        self.expect(self.on_two_nodes(WORKLOADS / "second_store.py", environments=(support.WARM,) * 2),
                    [f"rank {rank} done" for rank in range(RANKS)])


class RecordedFailure(Workload):
    FAILS, MESSAGE = 2, "ValueError: step 3: a label is out of range"  # rank 2 is on node 1

    def test_is_reported_everywhere_and_handed_on(self):
        folder = self.folder()
        copies = [folder / f"handed-on.{node}.json" for node in (0, 1)]
        ends = self.on_two_nodes(
            "--report", folder / "report.json", "--log-dir", folder,
            WORKLOADS / "recorded_failure.py", self.FAILS,
            environments=[{"TORCHELASTIC_ERROR_FILE": str(path)} for path in copies])
        for end in ends:
            self.assertEqual(end.code, 1, end)
            self.assertRegex(end.err, r"rank 2 on \S+ ended with exit code 1")
        self.assertRegex(ends[0].err, rf"it said +{re.escape(self.MESSAGE)}\n")

        cause = json.loads((folder / "report.json").read_text())["attempts"][0]["cause"]
        self.assertEqual([cause[key] for key in ("kind", "rank", "exit_code", "message")],
                         ["exit", self.FAILS, 1, self.MESSAGE])
        with open(cause["error_file"]) as file:
            self.assertEqual(json.load(file)["message"]["message"], self.MESSAGE)
        self.assertTrue(copies[1].exists(), "the launcher's own TORCHELASTIC_ERROR_FILE")
        handed_on = json.loads(copies[1].read_text())["message"]
        self.assertEqual((handed_on["message"], handed_on["errorCode"]), (self.MESSAGE, 1))


class Restart(Workload):
    """In place: the agents stay, the workers come again with an empty store."""

    def expect_restarts(self, finished, ranks):
        self.expect(finished, [
            f"attempt {n} restarts {n} rank {rank} sum {100 * n * ranks + sum(range(ranks))}"
            for n in range(RESTARTS + 1) for rank in range(ranks)])

    def options(self):
        return ["--max-restarts", RESTARTS, WORKLOADS / "restart_loop.py"]

    def test_of_two_nodes(self):
        self.expect_restarts(self.on_two_nodes(*self.options(), "3,0", environments=(support.WARM,) * 2), 4)

    def test_of_one_node(self):
        self.expect_restarts([self.on_one_node(2, *self.options(), "1,0")], 2)

    def test_a_training_goes_on_behind_its_last_checkpoint(self):
        undisturbed, killed = self.folder(), self.folder()
        script = [EXAMPLES / "train_resume.py", "--epochs", 20, "--output-dir"]
        wanted = self.losses(self.on_one_node(2, *script, undisturbed, env=support.WARM_TRAINING))
        self.assertEqual(list(wanted), list(range(1, 21)))

        runs = self.start_on_two_nodes("--max-restarts", 1, *script, killed, nproc=1,
                                       environments=(support.WARM_TRAINING, {}))
        support.wait_until((killed / "last.pt").exists, LIMIT_S, "a checkpoint")
        os.kill(support.children(runs[1].agent())[0], signal.SIGKILL)
        first, second = self.end(runs)
        self.assert_ok(second)
        losses = self.losses(first)
        self.assertGreaterEqual(len(losses), 19)  # one may be saved and not yet printed when it ends
        for epoch, loss in losses.items():
            self.assertAlmostEqual(loss, wanted[epoch], delta=0.001)

    def losses(self, finished):
        """{epoch: loss} of what train_resume.py printed; each epoch once, the last is there."""
        self.assert_ok(finished)
        pairs = re.findall(r"^epoch (\d+)/20  loss (\d+\.\d+)$", finished.out, re.M)
        epochs = [int(epoch) for epoch, _ in pairs]
        self.assertEqual(epochs, sorted(set(epochs)), finished)
        self.assertEqual(epochs[-1], 20, finished)
        return {int(epoch): float(loss) for epoch, loss in pairs}


class Environment(Workload):
    """What torchrun's workers find, ours find too."""

    ELSEWHERE = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_ERROR_FILE"}  # equal in kind
    FRESH_ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    CASES = [
        ("standalone", ["--standalone", "--max-restarts", 2, "--role", "trainer"],
         {"OMP_NUM_THREADS": "3"}),
        ("endpoint", ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:{port}", "--rdzv-id",
                      "job 7", "--signals-to-handle", "SIGTERM,SIGUSR1"],
         {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "3"}),
        ("address", ["--master-addr", "127.0.0.1", "--master-port", "{port}"],
         {"TORCHELASTIC_RUN_ID": "outer", "RANK": "17", "WORLD_SIZE": "99"}),
    ]

    def environments(self, launcher, options, env):
        """What the launcher adds for local ranks 0 and 1, or changes."""
        folder = self.folder()
        words = [str(word).format(port=support.free_port()) for word in options]
        run = self.begin(*launcher, "--nproc-per-node", 2, *words, WORKLOADS / "environment.py",
                         folder, env={"PYTHON_EXEC": support.python(), **env})
        self.assert_ok(run.wait(LIMIT_S))
        inherited = {**os.environ, **env, "PYTHON_EXEC": support.python(), support.MARK: run.mark}
        found = [json.loads((folder / str(rank)).read_text()) for rank in (0, 1)]
        for environment in found:
            self.assertEqual([name for name in inherited if name not in environment], [])
        return [{name: value for name, value in environment.items()
                 if name in env or inherited.get(name) != value} for environment in found]

    def test_is_torchrun_s(self):
        for name, options, env in self.CASES:
            theirs = self.environments(support.torchrun(), options, env)
            ours = self.environments([support.binary()], options, env)
            for local_rank in (0, 1):
                with self.subTest(name, local_rank=local_rank):
                    self.compare(ours[local_rank], theirs[local_rank])

    def compare(self, ours, theirs):
        shape = lambda environment: {
            name: re.sub(self.FRESH_ID, "an id of its own", value)
            for name, value in environment.items()
            if name not in self.ELSEWHERE and not name.startswith("TOPRUN_")}
        self.assertEqual(shape(ours), shape(theirs))
        self.assertLessEqual(self.ELSEWHERE, ours.keys() & theirs.keys())
        # Without --log-dir, toprun's ranks share one temporary folder; torchrun makes one for each.
        rank = ours["LOCAL_RANK"]
        tail = lambda environment: environment["TORCHELASTIC_ERROR_FILE"].split("/")[-3:]
        self.assertEqual(tail(theirs), ["attempt_0", rank, "error.json"])
        self.assertEqual(tail(ours)[1:], ["attempt_0", f"{rank}_error.json"])
        self.assertIn(ours["MASTER_ADDR"], {"127.0.0.1", theirs["MASTER_ADDR"]})


if __name__ == "__main__":
    unittest.main()
