# ctest: TIMEOUT 300 LABELS cluster
"""GPU figures of a running job, from drivers that are stand-ins: a program nvidia-smi, a /sys of amdgpu."""

import os
import pathlib
import re
import time
import unittest

import cluster
import live_socket
import support

TOPRUN = support.TOPRUN
PORT = "29543"
RANKS = 4
LIMIT_S = 60
INTERVALS_S = 3.5  # figures are taken every second at most
# Four GPUs, each with figures of its own, for the only question that toprun asks.
UUIDS = [f"GPU-{letter * 8}-0000-4000-8000-00000000000{i}" for i, letter in enumerate("abcd")]
BUSY = [10, 21, 32, 43]
MEMORY = [1_000, 2_001, 3_002, 4_003]
QUESTION = "--query-gpu=uuid,utilization.gpu,memory.used,memory.total --format=csv,noheader,nounits"
ANSWERS = f"""\
#!/bin/sh
[ "$*" = "{QUESTION}" ] || exit 2
""" + "".join(f"echo '{uuid}, {busy}, {memory}, 81559'\n" for uuid, busy, memory in zip(UUIDS, BUSY, MEMORY))
STAYS = """\
import os, pathlib, time
here = pathlib.Path(__file__).parent
(here / f"ready{os.environ['RANK']}").touch()
while not (here / "end").exists():
    time.sleep(0.05)
"""


class Case(support.TestCase):
    def setUp(self):
        self.here = self.folder()
        self.program = self.here / "stays.py"
        self.program.write_text(STAYS)

    def driver(self, text, name="bin"):
        """The variables of a host whose nvidia-smi is this script."""
        folder = self.here / name
        folder.mkdir()
        (folder / "nvidia-smi").write_text(text)
        (folder / "nvidia-smi").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    def environment(self, *more):
        environment = {**support.without_torch(), "XDG_RUNTIME_DIR": str(self.here)}
        for variables in more:
            environment.update(variables)
        return environment

    def running(self, *options, env=(), below=()):
        run = self.begin(*below, support.binary(), "--nproc-per-node", RANKS, *options, self.program,
                         env=self.environment(env))
        self.wait_for_ranks()
        return run

    def wait_for_ranks(self):
        for rank in range(RANKS):
            support.wait_until((self.here / f"ready{rank}").exists, LIMIT_S, "the ranks run")

    def ends(self, run):
        (self.here / "end").touch()
        self.assert_ok(run.wait(LIMIT_S))
        self.assert_nothing_left(run)

    def until(self, condition, what, folder=None):
        found = None

        def is_so():
            nonlocal found
            found = live_socket.picture(folder or self.here)["figures"]["ranks"]
            return condition(found)
        try:
            support.wait_until(is_so, LIMIT_S, what)
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from None
        return found

    def shows(self, order, folder=None):
        """Until rank i has the figures of GPU order[i], or None."""
        def of(figures):
            return [None if gpu is None else figures[gpu] for gpu in order]
        return self.until(lambda ranks: (ranks["gpu"], ranks["gpu_memory"]) == (of(BUSY), of(MEMORY)),
                          f"the figures of the GPUs {order}", folder)

    def has_no_gpus_but_goes_on(self, driver):
        run = self.running(env=driver)
        found = self.until(lambda ranks: None not in ranks["cpu"], "the other figures come")
        self.assertEqual((found["gpu"], found["gpu_memory"]), ([None] * RANKS, [None] * RANKS))
        return run


class Nvidia(Case):
    def test_each_rank_has_its_gpu_in_picture_top_and_metrics(self):
        run = self.running("--report", self.here / "report.json", env=self.driver(ANSWERS))
        self.shows(range(RANKS))
        top = self.run_to_end(TOPRUN, "top", self.here / "report.json", env=self.environment())
        self.assert_ok(top)
        for rank in range(RANKS):
            row, = re.findall(rf"(?m)^ *rank {rank} .*$", top.out)
            self.assertRegex(row, rf" {BUSY[rank]}% +{MEMORY[rank]}M|{BUSY[rank]}% +{MEMORY[rank] / 1024:.1f}G")
        _, _, text = live_socket.ask(self.here, "/metrics")
        for rank in range(RANKS):
            for name, value in (("busy_ratio", BUSY[rank] / 100), ("memory_bytes", MEMORY[rank] << 20)):
                sample, = re.findall(rf'(?m)^toprun_rank_gpu_{name}{{rank="{rank}",node="[^"]+"}} (\S+)$', text)
                self.assertAlmostEqual(float(sample), value)
        self.ends(run)

    def test_as_visible_by_number_and_by_uuid(self):
        order = [3, 1, 0, 2]
        for visible in (",".join(map(str, order)), ",".join(UUIDS[i] for i in order),
                        ",".join(UUIDS[i][:9] for i in order)):
            with self.subTest(visible=visible):
                run = self.running(env={**self.driver(ANSWERS, f"bin-{len(visible)}"), "CUDA_VISIBLE_DEVICES": visible})
                self.shows(order)
                self.ends(run)
                for file in [self.here / "end", *self.here.glob("ready*")]:
                    file.unlink()

    def test_one_for_each_rank_that_sees_only_its_own(self):
        run = self.running("--virtual-local-rank", env={**self.driver(ANSWERS), "CUDA_VISIBLE_DEVICES": "2,3,1,0"})
        self.shows([2, 3, 1, 0])
        self.ends(run)

    def test_a_rank_without_a_gpu(self):
        run = self.running(env={**self.driver(ANSWERS), "CUDA_VISIBLE_DEVICES": "1,0"})
        self.shows([1, 0, None, None])
        self.ends(run)

    def test_one_that_hangs(self):
        """The other figures do not wait for it. It is killed, and not asked again at each look."""
        mark = self.here / "asked"
        run = self.running(env=self.driver(f"#!/bin/sh\necho $$ >>{mark}\nexec sleep 600\n"))
        self.until(lambda ranks: None not in ranks["memory"], "the other figures come")
        asked = pathlib.Path(f"/proc/{mark.read_text().strip()}")
        self.assertTrue(asked.exists(), "the figures have waited for the driver")
        support.wait_until(lambda: not asked.exists(), LIMIT_S, "it is killed")
        self.until(lambda ranks: None not in ranks["cpu"], "figures go on")
        self.assertEqual(mark.read_text().strip(), asked.name)
        self.ends(run)

    def test_the_jobs_end_while_it_hangs(self):
        mark = self.here / "asked"
        run = self.running(env=self.driver(f"#!/bin/sh\ntouch {mark}\nexec sleep 600\n"))
        live_socket.picture(self.here)
        support.wait_until(mark.exists, LIMIT_S, "it is asked")
        self.ends(run)

    def test_one_that_fails(self):
        self.ends(self.has_no_gpus_but_goes_on(self.driver("#!/bin/sh\necho 'NVML: driver/library mismatch'\nexit 1\n")))

    def test_one_that_prints_rubbish(self):
        rubbish = "#!/bin/sh\nhead -c 100000 /dev/urandom\necho\necho 'GPU-aa, -7, 99999999999999999999, x'\necho ',,,'\n"
        run = self.running(env=self.driver(rubbish))
        self.until(lambda ranks: None not in ranks["cpu"], "the other figures come")
        self.assertEqual(live_socket.ask(self.here, "/metrics")[0], 200)
        self.ends(run)

    def test_one_that_does_not_tell_how_busy_it_is(self):
        """As with MIG. That it is idle would be another thing."""
        run = self.running(env=self.driver(re.sub(r", \d+, (\d+), 81559", r", [N/A], \1, 81559", ANSWERS)))
        self.until(lambda ranks: (ranks["gpu"], ranks["gpu_memory"]) == ([None] * RANKS, MEMORY), "their memory alone")
        self.assertNotIn("toprun_rank_gpu_busy_ratio{", live_socket.ask(self.here, "/metrics")[2])
        self.ends(run)

    def test_nobody_asks_it_while_nobody_looks(self):
        """Not for several of the intervals in which it would be asked; then at the first look."""
        mark = self.here / "asked"
        run = self.running(env=self.driver(f"#!/bin/sh\ntouch {mark}\n"))
        time.sleep(INTERVALS_S)
        self.assertFalse(mark.exists())
        live_socket.picture(self.here)
        support.wait_until(mark.exists, LIMIT_S, "it is asked")
        self.ends(run)


class Amd(Case):
    def setUp(self):
        support.needs_root()
        support.needs_program("unshare")
        super().setUp()

    def test_each_rank_has_its_gpu(self):
        sys = self.here / "sys"
        for gpu in range(RANKS):
            device = sys / f"class/drm/card{gpu + 8}/device"  # by number: card8 comes before card10
            device.mkdir(parents=True)
            for name, value in (("gpu_busy_percent", BUSY[gpu]), ("mem_info_vram_used", MEMORY[gpu] << 20),
                                ("mem_info_vram_total", 64 << 30)):
                (device / name).write_text(f"{value}\n")
        below = ["unshare", "--mount", "sh", "-ec", f'mount --bind {sys} /sys; exec "$@"', "sh"]
        run = self.running(env={"HIP_VISIBLE_DEVICES": "1,0,3,2"}, below=below)
        self.shows([1, 0, 3, 2])
        self.ends(run)


class OnHosts(Case, cluster.TestCase):
    UP = ("--hosts", "2")

    def test_each_host_asks_its_own_driver(self):
        """On n1 the GPUs are the other way round."""
        lines = ANSWERS.splitlines()
        drivers = [ANSWERS, "\n".join([*lines[:2], *reversed(lines[2:])]) + "\n"]
        words = ["--nnodes", "2", "--nproc-per-node", RANKS // 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"n0:{PORT}",
                 self.program]
        runs = []
        for i, driver in enumerate(drivers):
            runtime = self.here / f"run{i}"
            runtime.mkdir()
            runs.append(self.start(f"n{i}", support.binary(), *words,
                                   env=self.environment(self.driver(driver, f"bin{i}"), {"XDG_RUNTIME_DIR": str(runtime)})))
        self.wait_for_ranks()
        self.shows([0, 1, 3, 2], folder=self.here / "run0")
        (self.here / "end").touch()
        for run in runs:
            self.assert_ok(run.wait(LIMIT_S))


if __name__ == "__main__":
    unittest.main()
