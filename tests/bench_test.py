"""`toprun bench`: collectives measured between processes of this machine, and files of figures."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import support

TOPRUN = support.TOPRUN
SCHEMAS = support.REPOSITORY / "docs/reference/schemas"
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall",
               "sendrecv", "gather", "scatter"]
# nccl-tests' row: size, count, type, redop, root, then time, algbw, busbw, #wrong of two placements.
# What nccl-tests prints, in our figures.
PERF = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1
# Using devices
#  Rank  0 Group  0 Pid   6899 on   n1 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6733 on   n2 device  0 [0x1b] NVIDIA H100 80GB HBM3
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    12.90    0.00    0.00      0    12.87    0.00    0.00      0
    16777216       4194304     float     sum      -1   262.90   63.82   63.82      0   261.90   64.06   64.06      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 31.97
#
"""
NCCL_ROW = re.compile(r"^ +(\d+) +(\d+) +(\w+) +(\w+) +(-?\d+)"
                      + r" +(\S+) +(\S+) +(\S+) +(\S+)" * 2 + r"$", re.MULTILINE)


class Here(support.TestCase):
    def bench(self, *words, **options):
        return self.toprun("bench", *words, **options)

    def ranks(self, run):
        """Of three ranks, once they measure: each then has four sockets: to listen, to the store, to two others."""
        found = [pid for pid, line in run.processes().items() if "bench-worker" in line
                 and "--no-python" not in line and support.sockets_of(pid) >= 4]
        return found if len(found) == 3 else None

    def test_every_collective_is_right(self):
        for name in COLLECTIVES:
            with self.subTest(name):
                done = self.bench(name, "--nproc-per-node", "3", "-b", "100K", "-n", "2", "-r", "2",
                                  "--format", "csv")
                self.assert_ok(done)
                head, *rows = done.out.splitlines()
                wrong = [row.split(",")[head.split(",").index("wrong")] for row in rows]
                self.assertEqual(set(wrong), {"0"}, done)

    def test_gloo_is_right_too(self):
        if not os.access(pathlib.Path(TOPRUN).with_name("toprun-bench-gloo"), os.X_OK):
            self.skipTest("toprun-bench-gloo is not built: libgloo-dev is not installed")
        for name in [name for name in COLLECTIVES if name != "reduce_scatter"]:
            with self.subTest(name):
                done = self.bench(name, "--nproc-per-node", "3", "-b", "100K", "-n", "2", "-r", "2",
                                  "--backend", "tcp,gloo", "--format", "csv")
                self.assert_ok(done)
                head, *rows = [line.split(",") for line in done.out.splitlines()]
                self.assertEqual({row[head.index("backend")] for row in rows}, {"tcp", "gloo"})
                self.assertEqual({row[head.index("wrong")] for row in rows}, {"0"}, done)

    def test_remarks_come_below_the_table(self):
        """stdout and stderr are pipes that an agent reads, in one file here."""
        for _ in range(5):
            done = self.run_to_end("sh", "-c", f"exec {TOPRUN} bench all_reduce --nproc-per-node 2 -b 64K -n 2 2>&1")
            self.assert_ok(done)
            self.assertRegex(done.out, r"(?s) 64 KiB .*\ntoprun: with 2 ranks busbw equals algbw")

    def test_the_history_grows(self):
        folder = self.folder()
        for i in range(2):
            done = self.bench("all_reduce", "--nproc-per-node", "2", "-b", "64K", "-n", "2",
                              "--history", env={"XDG_STATE_HOME": str(folder)})
            self.assert_ok(done)
            self.assertIn(f"added the results to {folder}/toprun/bench.jsonl", done.err)
        picture = folder / "history.svg"
        done = self.bench("history", "--plot", str(picture), env={"XDG_STATE_HOME": str(folder)})
        self.assert_ok(done)
        self.assertRegex(done.out, r"\Aall_reduce tcp, 2 ranks on 1 node, 64 KiB, on \S+: busbw\n"
                                   r"  20\S+ +\S+ GB/s\n  20\S+ +\S+ GB/s +[+-]\d+\.\d %\n\Z")
        self.assertRegex(picture.read_text(), r"(seconds|minutes) since 20\d\d-\d\d-\d\d \d\d:\d\d")
        self.assertEqual(done.err, f"toprun: wrote {picture}\n")

    def test_no_history_yet(self):
        done = self.bench("history", env={"XDG_STATE_HOME": str(self.folder())})
        self.assertEqual(done.code, 2)
        self.assertIn("toprun bench COLLECTIVE --history creates the history file", done.err)

    def test_backends_of_different_programs(self):
        done = self.bench("all_reduce", "--backend", "gloo,nccl")
        self.assertEqual(done.code, 2)
        self.assertIn("toprun-bench-gloo and toprun-bench are different programs", done.err)

    def test_a_program_that_is_missing_is_said_before_the_launch(self):
        """As with the wheel, which has none for Gloo."""
        alone = self.folder() / "toprun"
        shutil.copy(TOPRUN, alone)
        done = self.run_to_end(alone, "bench", "all_reduce", "--backend", "gloo", "--nproc-per-node", "2")
        self.assertEqual(done.code, 2, done)
        self.assert_one_line(done, r"there is no program \S+/toprun-bench-gloo on \S+: --backend gloo needs this program, .*; put .* or "
                                   r"measure with --backend tcp")

    def test_a_program_that_no_host_has_is_not_awaited(self):
        """As after ssh to hosts on which it could not be written: 120 s would pass in vain."""
        alone = self.folder() / "toprun"
        shutil.copy(TOPRUN, alone)
        port = support.free_port()
        nodes = [self.begin(alone, "--nnodes", "2", "--node-rank", str(rank), "--nproc-per-node", "1",
                            "--master-addr", "127.0.0.1", "--master-port", str(port), "--no-python",
                            "/proc/self/exe", "bench-worker", "all_reduce", "--backend", "gloo") for rank in range(2)]
        ended = [node.wait(30) for node in nodes]
        self.assertTrue(all(one.code != 0 for one in ended), ended)
        self.assertIn("there is no program", ended[0].err + ended[1].err)

    def test_a_barrier_has_no_bytes(self):
        done = self.bench("barrier", "--nproc-per-node", "3", "-n", "2", "-b", "1M")
        self.assert_ok(done)
        self.assertRegex(done.out, r"0 B +\S+ .s +- +- ")
        self.assertIn("a barrier does not transfer data, so toprun ignores --minbytes 1M\n", done.err)

    def test_sizes_and_columns_are_those_of_nccl_tests(self):
        done = self.bench("all_reduce", "--nproc-per-node", "2", "-b", "8", "-e", "1M", "-f", "8",
                          "-n", "3", "-d", "bfloat16", "-o", "max", "--format", "nccl-tests")
        self.assert_ok(done)
        rows = NCCL_ROW.findall(done.out)
        self.assertEqual([int(row[0]) for row in rows], [8 << 3 * i for i in range(6)], done)
        for size, count, kind, op, root, time, algbw, busbw, wrong, *inside in rows:
            self.assertEqual((int(count) * 2, kind, op, root, wrong),
                             (int(size), "bfloat16", "max", "-1", "0"))
            self.assertAlmostEqual(float(algbw), int(size) / float(time) / 1e3, delta=0.011)
            self.assertEqual(busbw, algbw)  # 2(n-1)/n of two ranks
            self.assertEqual(len(inside), 4)
        self.assertIn("# Out of bounds values : 0 OK", done.out)

    def test_what_is_saved(self):
        file = self.folder() / "all.json"
        done = self.bench("all_gather", "--nproc-per-node", "4", "-b", "1M", "-e", "2M", "-n", "3",
                          "--ranks", "2,4", "-J", str(file), "--format", "json")
        self.assert_ok(done)
        report = json.loads(file.read_text())
        self.assertEqual(json.loads(done.out)["results"], report["results"])
        self.assertEqual([(result["ranks"], result["size"]) for result in report["results"]],
                         [(2, 1 << 20), (2, 2 << 20), (4, 1 << 20), (4, 2 << 20)])
        for result in report["results"]:
            side = result["out_of_place"]
            self.assertAlmostEqual(side["bus_bw"], side["alg_bw"] * (result["ranks"] - 1)
                                   / result["ranks"], places=6)
            self.assertGreaterEqual(side["p99"], side["median"])
            self.assertEqual(int(side["nwrong"]), 0)
        self.assertEqual(len(report["config"]["devices"]), 4)
        self.assertEqual(report["args"][:2], ["bench", "all_gather"])

    def test_what_bisect_does_not_go_with(self):
        for words, said in [(["--save", "x.json"], "--save"), (["--nodes", "1,2"], "--nodes"),
                            ([], "the job has only one node")]:
            with self.subTest(words=words):
                done = self.bench("all_reduce", "--nproc-per-node", "2", "--bisect", *words)
                self.assertEqual(done.code, 2, done)
                self.assertEqual(done.err.count(said), 1, done)

    def test_a_rank_that_stalls_is_named(self):
        run = self.begin(TOPRUN, "bench", "all_reduce", "--nproc-per-node", "3", "-b", "64M", "-n",
                         "100000", "--stall-timeout", "2")
        ranks = support.wait_until(lambda: self.ranks(run), 20, "ranks")
        os.kill(ranks[1], signal.SIGSTOP)
        done = run.wait(60)
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.err, r"(waiting for bytes from|takes no more bytes).*"
                                   r"no data was transferred for 2 s")
        self.assert_nothing_left(run)

    def test_bad_input_is_told_before_anything_starts(self):
        for words, said in [
                (["all_reduce", "-b", "4M", "-e", "1M"], "--minbytes 4M and --maxbytes 1M: the smallest size is larger"),
                (["all_reduce", "-b", "-4M"], "--minbytes"),
                (["all_reduce", "-b", "1T"], "--minbytes"),
                (["all_reduce", "-b", "1", "-e", "1G", "-f", "1"], "the factor must be larger than 1"),
                (["all_reduce", "-b", "1", "-e", "1G", "-i", "1"], "more than 1000 sizes"),
                (["all_reduce", "-d", "floaty"], "--datatype floaty: must be"),
                (["all_reduce", "--fail-below", "0.5"], "--expect-busbw, which is missing"),
                (["alltoall", "-b", "1G", "--expect-busbw", "usual"], "usual values are known only for all_reduce between GPUs"),
                (["all_reduce", "-b", "1M", "--expect-busbw", "usual"], "usual values are known only for messages of 1 GiB and more"),
                (["all_reduce", "--launcher", "mpirun"], "unknown option --launcher"),
                (["all_reduce", "-g", "2"], "unknown option -g; toprun starts one rank for each GPU: give --nproc-per-node"),
                (["all_reduce", "--plot", "x.gif"], "must end in .svg or .png"),
                (["all_reduce", "-b", "3"], "--minbytes 3: a message of 3 bytes would be empty: one float has 4 bytes"),
                (["all_reduce", "-e", "1", "-d", "half"], "--maxbytes 1: a message of 1 byte would be empty: one half has 2 bytes"),
                (["reduce_scatter", "--backend", "tcp,gloo"], "--backend gloo: toprun cannot measure reduce_scatter with Gloo; use --backend tcp"),
                (["pairs", "-b", "1M", "-e", "2M"],
                 "--env 2M: in bench pairs, -e means --env, and only one size can be measured; give the size with -b"),
                (["pairs", "-b", "0"], "--minbytes 0: must be a number of bytes"),
                (["all_reduce", "--orders", "best"], "--orders best: must be"),
                (["all_reduce", "--preset", "all_reduce_benhc"],
                 "--preset all_reduce_benhc: must be all_reduce_bench; did you mean all_reduce_bench?"),
                (["all_reduce", "--preset", ""], "--preset '': must be all_reduce_bench"),
                (["allreduce"], "did you mean all_reduce?"),
                (["pair"], "did you mean pairs?"),
                (["nosuch"], "barrier, pairs, compare, import, history"),
                ([], "no COLLECTIVE given"),
        ]:
            with self.subTest(words=words):
                done = self.bench(*words)
                self.assertEqual(done.code, 2, done)
                self.assertIn(said, done.err)
                self.assertEqual(len(done.err.splitlines()), 1, done)

    def test_what_only_the_started_job_tells(self):
        for words, said in [(["--ranks", "3"], "--ranks 3: the job has 2 ranks"),
                            (["--nodes", "2"], "--nodes 2: the job has 1 node"),
                            (["-r", "2"], "--root 2: the job has ranks 0 to 1"),
                            (["-b", "90000G"], "measure smaller sizes")]:
            with self.subTest(words=words):
                done = self.bench("broadcast", "--nproc-per-node", "2", *words)
                self.assertEqual(done.code, 2, done)
                self.assertEqual(done.err.count(said), 1, done)
                self.assertNotIn("ended with exit code", done.err)  # no rank has failed

    def test_an_unknown_usual_bandwidth_is_refused_before_the_measurement(self):
        """Without --backend, only the ranks' host tells whether there are GPUs."""
        for words in ([], ["--backend", "tcp"], ["--nproc-per-node", "1"]):
            with self.subTest(words=words):
                done = self.bench("all_reduce", "--nproc-per-node", "3", "-b", "1G", "-n", "2", "--expect-busbw", "usual", *words,
                                  env={"CUDA_VISIBLE_DEVICES": ""})
                self.assertEqual(done.code, 2, done)
                self.assertEqual(done.out, "")
                self.assertEqual(done.err.count("--expect-busbw usual: "), 1, done)
                self.assertRegex(done.err, "usual (busbw is|values are) known .*; give the expected busbw in GB/s\n")
                self.assertNotIn("something was found", done.err)

    def test_ranks_that_are_left_out_wait_for_the_others(self):
        """They cannot know how often the others repeat a size: until a spread that is never reached, as often as
        toprun goes on at most."""
        done = self.bench("all_reduce", "--nproc-per-node", "4", "--ranks", "2", "--until-cv", "0.000001",
                          "-b", "64K", "-n", "4", "--format", "json")
        self.assert_ok(done)
        result, = json.loads(done.out)["results"]
        self.assertEqual(result["ranks"], 2)
        self.assertGreater(result["out_of_place"]["samples"], 4)
        self.assertRegex(done.err, r"(?m)^toprun: --until-cv 1e-06: 64 KiB: toprun stopped after 20 rounds \(80 iterations\); the times of "
                                   r"the last round still vary by [\d.e+]+ %$")

    def test_sizes_that_would_be_empty_are_left_out(self):
        words = "all_gather", "--nproc-per-node", "2", "-f", "2", "-b"
        done = self.bench(*words, "8", "-e", "64")
        self.assert_ok(done)
        self.assertIn("toprun: all_gather: sizes up to 16 B are left out: each rank's part would be empty\n", done.err)
        self.assertNotRegex(done.out, r"(?m)^ +0 B ")
        self.assertEqual(len(re.findall(r"(?m)^ +(?:32|64) B ", done.out)), 2, done)
        done = self.bench(*words, "8", "-e", "16")
        self.assertEqual(done.code, 2, done)
        self.assertEqual(done.err.count("all_gather: sizes up to 16 B: each rank's part would be empty; measure larger messages"), 1, done)

    def test_a_long_size_shows_its_progress(self):
        run = self.begin(support.binary(), "bench", "all_reduce", "--nproc-per-node", 2, "-b", "4M", "-n", "1000000")
        run.says(r"(?m)^toprun: 4 MiB, about .* left$", 40)

    def test_pairs_of_one_host_have_its_ranks_and_no_racks(self):
        picture, saved = self.folder() / "pairs.svg", self.folder() / "pairs.json"
        done = self.bench("pairs", "--nproc-per-node", "4", "-b", "64K", "--plot", picture, "--save", saved)
        self.assertIn(done.code, (0, 3), done)  # any may be slow here
        self.assertRegex(done.out, r"(?m)^  on one host  .* Gbps.* \(6 pairs, 2 at a time\)$")
        self.assertNotIn("racks", done.err)
        for file in (saved, picture):
            self.assertIn(f"toprun: wrote {file}\n", done.err)
        self.assertIn(" rank 3</text>", picture.read_text())
        self.assertEqual(len(set(json.loads(saved.read_text())["hosts"])), 1)

    def test_pairs_that_do_not_fit_into_memory(self):
        done = self.bench("pairs", "--nproc-per-node", "2", "-b", "90000G")
        self.assertEqual(done.code, 2, done)
        self.assertIn("measure smaller sizes", done.err)

    def test_a_picture_that_would_have_no_figure(self):
        picture = self.folder() / "one.svg"
        for words, said in ((["all_reduce"], r"a single rank does not have a busbw; start more ranks, as with --nproc-per-node 2"),
                            (["barrier", "--nproc-per-node", "2"], r"a barrier does not transfer data, so it does not have a busbw")):
            with self.subTest(words):
                done = self.bench(*words, "-b", "1M", "-n", "2", "--plot", picture)
                self.assertEqual(done.code, 2, done)
                self.assertRegex(done.err, rf"(?m)^toprun: --plot {picture}: {said}")
                self.assertNotIn("MiB ", done.out, "nothing is measured")
        done = self.bench("all_reduce", "-b", "1M", "-n", "2", "--nproc-per-node", "2", "--ranks", "1,2", "--plot", picture)
        self.assert_ok(done)
        self.assertTrue(picture.exists())

    def test_one_rank(self):
        done = self.bench("all_reduce", "-b", "1M", "-n", "2")
        self.assert_ok(done)
        self.assertRegex(done.out, r"^all_reduce over tcp, 1 rank on 1 node\n(.*\n){2} +1 MiB .* 0\n\Z")


class Files(support.TestCase):
    """What was measured before, by toprun and by others."""

    def saved(self, *words):
        file = self.folder() / "report.json"
        done = self.toprun("bench", "all_reduce", "--nproc-per-node", "2", "-b", "64K", "-e", "1M",
                           "-f", "16", "-n", "20", "-J", str(file), *words)
        self.assert_ok(done)
        return file

    def test_a_run_compared_with_itself_and_with_a_slower_one(self):
        file = self.saved()
        done = self.toprun("bench", "compare", str(file), str(file))
        self.assert_ok(done)
        self.assertEqual(len(re.findall("no difference", done.out)), 2, done)
        report = json.loads(file.read_text())
        for result in report["results"]:
            for name in ("time", "min", "median", "p99"):
                result["out_of_place"][name] *= 100
            for name in ("alg_bw", "bus_bw"):
                result["out_of_place"][name] /= 100
        slower = self.folder() / "slower.json"
        slower.write_text(json.dumps(report))
        done = self.toprun("bench", "compare", str(file), str(slower))
        self.assertEqual(done.code, 3, done)
        self.assertEqual(len(re.findall("slower", done.out)), 2, done)

    def assert_valid(self, schema, file):
        """By Debian's python3-jsonschema, which the tests' own Python need not have."""
        check = ("import json, sys, jsonschema\n"
                 "schema, document = (json.load(open(name)) for name in sys.argv[1:])\n"
                 "jsonschema.Draft202012Validator.check_schema(schema)\n"
                 "jsonschema.Draft202012Validator(schema).validate(document)\n")
        done = subprocess.run(["/usr/bin/python3", "-c", check, SCHEMAS / schema, file],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_saved_follows_its_schema(self):
        for words in [["all_reduce", "--link-gbps", "10"],
                      ["all_gather", "--ranks", "2,4", "-c", "0", "-d", "half"],
                      ["sendrecv", "--orders", "topology,hostname"], ["barrier"],
                      ["broadcast", "-r", "1"], ["pairs"]]:
            with self.subTest(words=words):
                file = self.folder() / "saved.json"
                done = self.toprun("bench", *words, "--nproc-per-node", "4", "-b", "64K", "-n", "3",
                                   "-J", str(file))
                if words != ["pairs"]:  # of which any may be slow here
                    self.assert_ok(done)
                schema = "bench_pairs.json" if words == ["pairs"] else "bench.json"
                self.assert_valid(schema, file)

    def test_nccl_tests_own_text_comes_back(self):
        text = self.folder() / "all_reduce_perf.log"
        done = self.toprun("bench", "all_reduce", "--nproc-per-node", "2", "-b", "1M", "-n", "3",
                           "--format", "nccl-tests")
        self.assert_ok(done)
        row, = NCCL_ROW.findall(done.out)
        self.assertEqual(row[0], str(1 << 20))
        text.write_text(done.out)
        again = self.toprun("bench", "import", str(text), "--format", "nccl-tests")
        self.assert_ok(again)
        self.assertEqual(NCCL_ROW.findall(again.out), [row])

    def imported(self, text, *words):
        file = self.folder() / "all_reduce_perf.log"
        file.write_text(text)
        return self.toprun("bench", "import", str(file), *words)

    def test_what_import_saves(self):
        saved = self.folder() / "imported.json"
        done = self.imported(PERF, "--save", saved)
        self.assert_ok(done)
        self.assertIn("all_reduce over nccl, 2 ranks on 2 nodes\n", done.out)
        self.assertEqual(done.err, f"toprun: wrote {saved}\n")
        self.assert_valid("bench.json", saved)
        self.assertEqual(json.loads(saved.read_text()), json.loads(self.imported(PERF, "--format", "json").out))
        self.assertEqual(self.toprun("bench", "import", saved).out, done.out)
        both = self.run_to_end("sh", "-c", 'exec "$0" bench import "$1" --save "$1" 2>&1', support.TOPRUN, saved)
        self.assertTrue(both.out.endswith(f"\ntoprun: wrote {saved}\n"), "the results come first: " + both.out)
        refused = self.imported(PERF, "-J", saved.parent / "no/such/folder.json")
        self.assertEqual(refused.code, 1, refused)
        self.assert_one_line(refused, r"cannot write \S+/no/such/folder\.json: .*")

    def test_a_log_as_a_launcher_marks_it(self):
        """pdsh, mpirun, kubectl logs --prefix --timestamps, docker compose; a terminal's colours and line ends."""
        plain = self.imported(PERF)
        self.assert_ok(plain)
        self.assertIn("all_reduce over nccl, 2 ranks on 2 nodes\n", plain.out)
        prefixes = ("10.3.35.83: ", "gpu-node-1: ", "[pod/x-0/main] 2026-05-16T16:39:SS.218Z ", "worker-0  | ",
                    "Fri May 16 10:12:SS 2026[1,0]<stdout>:", "\x1b[36mn1\x1b[0m: ")
        for number, prefix in enumerate(prefixes):
            with self.subTest(prefix=prefix):
                end = "\r\n" if number % 2 else "\n"
                text = "".join(prefix.replace("SS", str(10 + i)) + line + end
                               for i, line in enumerate(PERF.splitlines()))
                done = self.imported(text)
                self.assert_ok(done)
                self.assertEqual((done.out, done.err), (plain.out, ""))

    def test_a_torn_row_is_passed_over_and_said(self):
        done = self.imported(PERF + PERF.splitlines()[-4][:40] + "n1:77:77 [0] NCCL INFO x\n")
        self.assert_ok(done)
        self.assertEqual(done.out, self.imported(PERF).out)
        self.assertRegex(done.err, r"^toprun: warning: \S+all_reduce_perf\.log: ignored an incomplete row "
                                   rf"\(line {len(PERF.splitlines()) + 1}: .*\)\n\Z")

    def test_both_placements_and_what_is_cut_off(self):
        whole = self.imported(PERF)
        self.assertRegex(whole.out, r"\n +out of place +in place\n +size +time +algbw +busbw +time +algbw +busbw +wrong\n")
        self.assertRegex(whole.out, r"\n +16 MiB +262\.90 µs +63\.82 +63\.82 +261\.90 µs +64\.06 +64\.06 +0\n")
        self.assertNotIn("wire", whole.out)
        self.assertEqual(whole.err, "")
        done = self.imported("".join(PERF.splitlines(keepends=True)[:8]))
        self.assert_ok(done)
        self.assertRegex(done.err, r"^toprun: warning: \S+: the table of line 6 is perhaps cut off: the last line of nccl-tests "
                                   r"is missing, and after 8 B the table should continue up to 16 MiB\n\Z")

    def test_the_version_of_nccl_and_the_size_of_the_message(self):
        self.assertTrue(self.imported(PERF, "--format", "nccl-tests").out.startswith("# nccl-tests\n"))
        log = "NCCL version 2.21.5+cuda12.4\n" + PERF
        self.assertTrue(self.imported(log, "--format", "nccl-tests").out.startswith("# nccl-tests, NCCL 2.21.5\n"))
        self.assertEqual(json.loads(self.imported(log, "--format", "json").out)["nccl_version"], 22105)
        table = self.imported(log, "--format", "markdown").out
        self.assertTrue(table.startswith("all_reduce over nccl, GB/s\n"), table)
        self.assertRegex(table, r"(?m)^\| .* \| 8 B \| .*\n\| .* \| 16 MiB \| ")

    def test_operations_can_be_told_apart_and_are_compared_one_by_one(self):
        heading, rows, end = PERF.splitlines()[:-5], PERF.splitlines()[-5:-3], PERF.splitlines()[-3:]
        blocks = {op: [row.replace("sum", op) for row in rows] for op in ("sum", "prod", "max", "min")}
        before, after = self.folder() / "before.log", self.folder() / "after.log"
        before.write_text("\n".join(heading + [row for block in blocks.values() for row in block] + end) + "\n")
        twice = [re.sub(r"262\.90|261\.90", "525.80", row) for row in blocks["max"]]
        after.write_text("\n".join(heading + twice + blocks["min"] + blocks["sum"] + blocks["prod"] + end) + "\n")
        table = self.imported(before.read_text())
        self.assertRegex(table.out, r"\n +size  redop +time ")
        self.assertEqual(len(re.findall(r"MiB  (sum|prod|max|min) ", table.out)), 4, table)
        done = self.toprun("bench", "compare", before, after)
        self.assertEqual(done.code, 3, done)
        self.assertEqual(sorted(re.findall(r"MiB  (\S+) +\S+ +\S+ +(\S+)", done.out)),
                         [("max", "0.500"), ("min", "1.000"), ("prod", "1.000"), ("sum", "1.000")])
        self.assertRegex(done.err, r"^toprun: warning: 7 of 8 rows could not be judged: .*--fail-below")
        self.assertRegex(done.err, r"\ntoprun: 16 MiB max of .* has 50\.0 % of its earlier speed: a result counts as slower if its ratio is below 0\.75")
        back = self.toprun("bench", "compare", after, before)
        self.assertEqual((back.code, "2.000              -  faster" in back.out), (0, True), back)
        for ratio, code in (("0.4", 0), ("0.5", 0), ("0.9", 3)):
            done = self.toprun("bench", "compare", before, after, "--fail-below", ratio)
            self.assertEqual(done.code, code, done)
            self.assertRegex(done.err, r"^toprun: 16 MiB max of all_reduce nccl, .* has 50\.0 % of its earlier speed \(the slowest of \d rows\), ")
        self.assertEqual(self.toprun("bench", "compare", before, after, "--fail-below", "-1").code, 2)

    def test_files_without_a_common_row_are_not_compared_silently(self):
        before, after = self.folder() / "before.log", self.folder() / "after.log"
        before.write_text(PERF)
        after.write_text(re.sub(r"(?m)^ +8  .*\n", "", PERF).replace("16777216", "33554432").replace("4194304", "8388608"))
        done = self.toprun("bench", "compare", before, after)
        self.assertEqual(done.code, 2, done)
        self.assertIn("only after: 32 MiB of all_reduce", done.out)
        self.assertRegex(done.err, r"\Atoprun: .*before\.log and .*after\.log: the two files have no measurement in common")

    def test_the_help_has_the_exit_codes_of_compare(self):
        done = self.toprun("help", "bench", "compare")
        self.assertRegex(done.out, r"(?s)\n +3 +a result became slower.*--fail-below")

    def test_what_an_imported_file_does_not_tell_is_null(self):
        file = self.folder() / "superbench.json"
        for text in ("nccl-bw/allreduce_8388608_algbw:0=12.5\n" * 3,
                     PERF[PERF.index("#       size"):]):
            done = self.imported(text, "--format", "json")
            self.assert_ok(done)
            file.write_text(done.out)
            self.assert_valid("bench.json", file)
            results = json.loads(done.out)["results"]
            for result in results:
                self.assertIsNone(result["nodes"])
                for name in ("min", "median", "p99", "cv"):
                    self.assertIsNone(result["out_of_place"][name])
        done = self.imported("nccl-bw/allreduce_8_busbw:0=1\n" * 3)
        self.assertEqual(re.findall("result . of 3", done.out), [f"result {i} of 3" for i in (1, 2, 3)])

    def test_the_expected_bandwidth(self):
        words = ["bench", "all_reduce", "--nproc-per-node", "2", "-b", "1M", "-n", "3"]
        self.assert_ok(self.toprun(*words, "--expect-busbw", "0.000001"))
        done = self.toprun(*words, "--expect-busbw", "1e9", "--fail-below", "0.5")
        self.assertEqual(done.code, 3, done)
        self.assertIn("of the expected 1000000000.00 GB/s, below 50 %", done.err)
        self.assertNotIn("last lines", done.err)

    def test_files_that_are_something_else(self):
        foreign = self.folder() / "x.json"
        for text, said in [("", "x.json"), ("{}", "x.json"),
                           ('{"schema": "toprun.bench/1"}', "x.json"),
                           ("\0\1", "x.json: it is not a text file"), ("x", "x.json:1: neither a report")]:
            with self.subTest(text=text):
                foreign.write_text(text)
                done = self.toprun("bench", "import", str(foreign))
                self.assertEqual(done.code, 2, done)
                self.assertIn(said, done.err)
                self.assertEqual(len(done.err.splitlines()), 1, done)
        done = self.toprun("bench", "compare", "/no/such", "/no/such")
        self.assertEqual(done.code, 2, done)


if __name__ == "__main__":
    unittest.main()
