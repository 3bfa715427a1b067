"""`toprun bench --backend nccl`: the whole way through dlopen, with libraries that stand for CUDA and
NCCL (tests/fake_gpu). Figures of a GPU cannot be checked here."""

import json
import pathlib
import re
import shutil
import unittest

import support

TOPRUN = pathlib.Path(support.TOPRUN).resolve()
FAKES = TOPRUN.parent / "fake_gpu"
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall",
               "sendrecv", "gather", "scatter"]


class Nccl(support.TestCase):
    def bench(self, *words, ranks=2, libraries=FAKES, **variables):
        environment = {"FAKE_NCCL_DIR": self.folder(), "LD_LIBRARY_PATH": libraries, **variables}
        return self.toprun("bench", *words, "--backend", "nccl", "--nproc-per-node", ranks,
                           env={name: str(value) for name, value in environment.items()})

    def assert_failed(self, done, pattern, code=1):
        self.assertEqual(done.code, code, done)
        self.assertRegex(done.err, pattern)

    def libraries(self, **files):
        """A folder of links: nccl="cuda" lets libcuda.so.1 stand for libnccl.so.2."""
        folder = self.folder()
        names = {"cuda": "libcuda.so.1", "nccl": "libnccl.so.2"}
        for name, source in files.items():
            (folder / names[name]).symlink_to(FAKES / names[source])
        return folder

    def test_a_library_that_is_missing_is_said_once(self):
        absent = r"libnccl\.so\.2 was not found: looked for in .*; add the library's folder to LD_LIBRARY_PATH, .*"
        done = self.bench("all_reduce", ranks=3, libraries=self.folder(), VIRTUAL_ENV="", CONDA_PREFIX="", PATH="/bin")
        self.assert_failed(done, rf"(?m)^toprun: {absent}$", code=2)
        self.assertEqual(done.err.count("was not found"), 1, done)
        self.assertNotIn("last lines", done.err)
        self.assertNotIn("as a consequence", done.err)
        self.assertNotIn("  next ", done.err)

    def test_the_environments_that_were_searched_are_named(self):
        environment = self.folder()
        packages = environment / "lib/python3.11/site-packages"
        packages.mkdir(parents=True)
        for variables in ({"VIRTUAL_ENV": environment}, {"PYTHON_EXEC": environment / "bin/python3"}):
            with self.subTest(variables):
                done = self.bench("all_reduce", ranks=1, libraries=self.folder(),
                                  **{"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "PATH": "/nowhere", **variables})
                self.assert_failed(done, re.escape(f"{packages}/nvidia/nccl/lib and the system's libraries; "), code=2)
                self.assertIn("choose the Python environment that contains the library with --venv DIR", done.err)

    def test_every_collective_is_right(self):
        for name in COLLECTIVES:
            with self.subTest(name):
                done = self.bench(name, "-b", "1M", "-n", "3", "-r", "1", "--format", "csv")
                self.assert_ok(done)
                head, *rows = done.out.splitlines()
                column = head.split(",").index("wrong")
                self.assertEqual({row.split(",")[column] for row in rows}, {"0"}, done)

    def test_types_and_reductions_are_those_asked_for(self):
        for kind, op in (("int8", "sum"), ("double", "prod"), ("uint64", "max"), ("int32", "min"),
                         ("float", "avg")):
            with self.subTest(f"{kind} {op}"):
                done = self.bench("reduce_scatter", "-b", "64K", "-d", kind, "-o", op, "--format", "json", ranks=4,
                                  FAKE_CUDA_GPUS=4)
                self.assert_ok(done)
                result, = json.loads(done.out)["results"]
                self.assertEqual((result["type"], result["redop"]), (kind, op))
                width = {"int8": 1, "double": 8, "uint64": 8, "int32": 4, "float": 4}[kind]
                self.assertEqual(result["size"], result["count"] * width * 4)

    def test_several_operations_at_once(self):
        for name in ("all_reduce", "alltoall"):
            with self.subTest(name):
                self.assert_ok(self.bench(name, "-b", "64K", "-n", "3", "-m", "4", "-a", "1"))
        done = self.toprun("bench", "all_reduce", "-m", "4")
        self.assert_failed(done, r"--agg-iters: only NCCL and RCCL can run several operations", code=2)

    def test_which_ranks_time_it_is(self):
        """One iteration, in which rank 1 takes 400 ms longer than rank 0."""
        for average, least_ms, most_ms in ((0, 0, 150), (1, 200, 350), (2, 0, 150), (3, 400, 4000)):
            with self.subTest(average=average):
                done = self.bench("all_reduce", "-b", "64K", "-n", "1", "-w", "0", "-c", "0", "-a",
                                  average, "--format", "json", FAKE_NCCL_LATE_US=400_000,
                                  FAKE_NCCL_OTHER_RANK=1)
                self.assert_ok(done)
                took_ms = json.loads(done.out)["results"][0]["out_of_place"]["time"] / 1000
                self.assertTrue(least_ms <= took_ms < most_ms, took_ms)

    def test_a_wrong_result_is_counted(self):
        done = self.bench("all_reduce", "-b", "64K", FAKE_NCCL_WRONG=1)
        self.assert_failed(done, r"elements of the results are wrong", code=3)
        self.assertNotIn("last lines", done.err)

    def test_a_barrier(self):
        done = self.bench("barrier", "-n", "4")
        self.assert_ok(done)
        self.assertRegex(done.out, r"^barrier over nccl, 2 ranks on 1 node\n(.*\n){2} +0 B .* -\n\Z")

    def test_what_is_told_of_library_and_gpus(self):
        done = self.bench("all_reduce", "-b", "64K", "--format", "json")
        self.assert_ok(done)
        report = json.loads(done.out)
        self.assertEqual(report["results"][0]["backend"], "nccl")
        devices = report["config"]["devices"]
        self.assertEqual([device["device"] for device in devices], [0, 1])
        self.assertEqual(devices[1]["device_hex"], "0000:11:00.0")
        done = self.bench("all_reduce", "-b", "64K", "--format", "nccl-tests")
        self.assertIn("# toprun 0.1.0, nccl 2.27.3\n", done.out)
        self.assertRegex(done.out, r"Rank  1 .* device  1 \[0000:11:00\.0\] Pretended GPU\n")

    def test_orders_are_compared(self):
        done = self.bench("all_reduce", "-b", "64K", "--ranks", "2,4", ranks=4, FAKE_CUDA_GPUS=4)
        self.assert_ok(done)
        self.assertEqual(len(re.findall(r"nccl +- +1 +[24] ", done.out)), 2, done)

    def test_fabrics_are_of_nccl(self):
        done = self.toprun("bench", "all_reduce", "--fabrics", "rdma,tcp")
        self.assert_failed(done, r"--fabrics: only NCCL and RCCL can choose the network", code=2)

    def all_reduces(self, *words):
        """How many NCCL is given by rank 0."""
        folder = self.folder()
        done = self.bench("all_reduce", "-b", "64K", "-c", "0", *words, FAKE_NCCL_DIR=folder)
        self.assert_ok(done)
        self.assertRegex(done.out, r"\n +64 KiB ")
        return (folder / "all_reduces").stat().st_size

    def test_how_many_iterations(self):
        """Those that are timed, and the one that is checked, in two buffers and in one."""
        for words, warmups, timed, checked in (
                (["-n", "20"], 1, 20, 0), (["-w", "0", "-n", "1"], 0, 1, 0), (["-w", "5", "-n", "3"], 5, 3, 0),
                (["-n", "3", "-c", "1"], 1, 3, 1),
                (["--preset", "all_reduce_bench"], 2, 5, 0)):
            with self.subTest(words):
                self.assertEqual(self.all_reduces(*words), warmups + 2 * (timed + checked))
        self.assertGreater(self.all_reduces(), 1 + 2 * 20, "50 ms of iterations, unless -n says how many")

    def test_the_environments_wheel_is_found(self):
        environment = self.folder()
        packages = environment / "lib/python3.12/site-packages/nvidia/nccl/lib"
        packages.mkdir(parents=True)
        (packages / "libnccl.so.2").symlink_to(FAKES / "libnccl.so.2")
        done = self.bench("all_reduce", "-b", "64K", libraries=self.libraries(cuda="cuda"),
                          VIRTUAL_ENV=environment)
        self.assert_ok(done)
        self.assertRegex(done.out, r"^all_reduce over nccl, 2 ranks ")

    def test_no_library(self):
        here = self.libraries(cuda="cuda")
        done = self.bench("all_reduce", libraries=here)
        self.assert_failed(done, rf"libnccl\.so\.2 was not found: looked for in {here}.* and the "
                                 r"system's libraries; add the library's folder to LD_LIBRARY_PATH", code=2)

    def test_another_library_under_its_name(self):
        done = self.bench("all_reduce", libraries=self.libraries(cuda="cuda", nccl="cuda"))
        self.assert_failed(done, r"libnccl\.so\.2: the library has no function ncclGetVersion")

    def test_no_gpu(self):
        done = self.bench("all_reduce", libraries=self.libraries(nccl="nccl"))
        self.assert_failed(done, r"libcuda\.so\.1 was not found", code=2)
        done = self.bench("all_reduce", FAKE_CUDA_GPUS=0)
        self.assert_failed(done, r"no GPU: the driver shows no GPU to this process")
        done = self.bench("all_reduce", FAKE_CUDA_BROKEN=1)
        self.assert_failed(done, r"starting the GPU's driver: unknown error \(999\)")

    def test_more_ranks_than_gpus(self):
        done = self.bench("all_reduce", ranks=3)
        self.assert_failed(done, r"local rank 2 has no GPU: this process sees 2 GPUs", code=2)

    def test_too_old(self):
        done = self.bench("all_reduce", FAKE_NCCL_VERSION=2804)
        self.assert_failed(done, r"libnccl\.so\.2: it is NCCL 2\.8\.4; 2\.10 or later is needed")

    def test_different_versions(self):
        done = self.bench("all_reduce", FAKE_NCCL_VERSION=22005, FAKE_NCCL_OTHER_RANK=1)
        self.assert_failed(done, r"rank 1 on \S+ has NCCL 2\.20\.5, rank 0 on \S+ has 2\.27\.3")

    def test_it_does_not_start(self):
        done = self.bench("all_reduce", FAKE_NCCL_INIT_ERROR=3)
        self.assert_failed(done, r"starting NCCL: internal error \(3\): the fake was told to fail; "
                                 r"set NCCL_DEBUG=INFO for more details from NCCL")

    def test_a_link_breaks(self):
        done = self.bench("all_reduce", FAKE_CUDA_HANGS=1, FAKE_NCCL_ASYNC_ERROR=6)
        self.assert_failed(done, r"all_reduce: remote process exited or there was a network error")

    def test_it_hangs(self):
        done = self.bench("all_reduce", "-T", "1", FAKE_CUDA_HANGS=1)
        self.assert_failed(done, r"all_reduce hangs: the GPU did not finish the operation within 1 s; "
                                 r"perhaps a rank is stopped or a link is down")

    def test_too_little_memory(self):
        done = self.bench("all_reduce", "-b", "64M", FAKE_CUDA_MEMORY=100_000_000)
        self.assert_failed(done, r"128 MiB on GPU 0000:1\d:00\.0: 95 MiB are free", code=2)

    def test_without_its_program(self):
        alone = self.folder() / "toprun"
        shutil.copy(TOPRUN, alone)
        done = self.run_to_end(alone, "bench", "all_reduce", "--backend", "nccl")
        self.assert_failed(done, r"\Atoprun: there is no program \S+/toprun-bench on \S+: --backend nccl needs this program, .*\n\Z", code=2)

    def test_a_node_without_its_program_gets_it_from_rank_0(self):
        """As ssh leaves it: toprun alone."""
        alone = self.folder() / "toprun"
        shutil.copy(TOPRUN, alone)
        port = str(support.free_port())
        environment = {"FAKE_NCCL_DIR": str(self.folder()), "LD_LIBRARY_PATH": str(FAKES)}
        nodes = [self.begin(program, "bench", "all_reduce", "--backend", "nccl", "-b", "64K",
                            "--nnodes", "2", "--node-rank", str(rank), "--nproc-per-node", "1",
                            "--master-addr", "127.0.0.1", "--master-port", port, "--format", "json",
                            env=environment)
                 for rank, program in enumerate((TOPRUN, alone))]
        root, other = (node.wait(60) for node in nodes)
        self.assert_ok(root)
        self.assert_ok(other)
        self.assertEqual(json.loads(root.out)["results"][0]["ranks"], 2)


if __name__ == "__main__":
    unittest.main()
