# ctest: TIMEOUT 400 SERIAL FIRST LABELS cluster
"""`toprun bench` between eight virtual hosts in four racks: orders, and which host or uplink is
slow."""

import json
import os
import pathlib
import signal
import unittest

import cluster
import support

TOPRUN = support.TOPRUN
FOUND = 3  # the exit code of bench that found something
GBPS = r"\d+(?:\.\d+)?"
RANGE = f"{GBPS}(?: to {GBPS})? Gbps"


class ShapedLinks(cluster.SlurmCase):
    """Eight hosts in four racks, each with an uplink of 400 Mbit/s."""

    UP = ("--hosts", "8", "--racks", "4", "--uplink", "400mbit", "--slurm")
    UPLINK_GBPS = 0.4
    TCP_SHARE = 1448 / 1514  # of a frame, with time stamps

    def test_an_order_that_is_the_same_as_another_is_named(self):
        done = self.srun("-N8", TOPRUN, "bench", "all_reduce", "--nproc-per-node", "1", "-b", "64K", "-n", "2",
                         "--orders", "hostname,worst")
        self.assert_ok(done)
        self.assertIn("order worst is left out: it is the same as order hostname\n", done.err)
        self.assertNotIn("between nodes", done.err, "64 KiB tell nothing of sharding")

    def test_the_order_is_the_one_of_the_launch(self):
        done = self.srun("-N4", TOPRUN, "bench", "all_reduce", "--nproc-per-node", "1", "-b", "64K", "-n", "2",
                         "--order", "name", "--orders", "topology,hostname")
        self.assert_ok(done)
        self.assertIn("--orders topology: the job was started in another order (toprun -v says why), so toprun measures the order of the host names", done.err)
        self.assertIn("order hostname is left out: it is the same as order name\n", done.err)
        self.assertIn("all_reduce over tcp, 4 ranks on 4 nodes, order name\n", done.out)

    def test_the_order_by_topology_is_twice_as_fast_and_both_reach_their_limit(self):
        file = self.folder() / "orders.json"
        done = self.srun("-N8", TOPRUN, "bench", "all_reduce", "--nproc-per-node", "1", "-b", "8M",
                         "-n", "5", "--orders", "topology,hostname", "--backend", "tcp,gloo",
                         "--uplink-gbps", str(self.UPLINK_GBPS), "-J", str(file), limit=150)
        self.assert_ok(done)
        found = {(result["backend"], result["order"]): result
                 for result in json.loads(file.read_text())["results"]}
        for backend in ("tcp", "gloo"):
            times = {}
            for order, edges in (("topology", 1), ("hostname", 2)):
                result = found[backend, order]
                times[order] = result["out_of_place"]["median"]
                self.assertAlmostEqual(result["limit_gbps"],
                                       self.UPLINK_GBPS * self.TCP_SHARE / edges, places=6)
                self.assertEqual(int(result["out_of_place"]["nwrong"]), 0)
            self.assertGreater(times["hostname"] / times["topology"], 1.7, done)
        self.assertRegex(done.out, r"hostname +8 +8 .*\(\d\.\d\d to \d\.\d\d\)")
        self.assertIn("sends 2 × busbw and TCP can carry 95.6 % of its bits, so busbw is at most "
                      "0.0239 GB/s", done.err)


class Fabrics(cluster.SlurmCase):
    """The table of a cluster with and without RDMA, with the library that stands for NCCL."""

    UP = ShapedLinks.UP

    def test_with_and_without_rdma(self):
        fakes = pathlib.Path(TOPRUN).resolve().parent / "fake_gpu"
        done = self.srun("-N2", "env", f"LD_LIBRARY_PATH={fakes}", f"FAKE_NCCL_DIR={self.folder()}",
                         TOPRUN, "bench", "all_reduce", "--backend", "nccl", "--nproc-per-node",
                         "2", "-b", "64K", "-n", "10", "--fabrics", "rdma,tcp", "--nodes", "1,2",
                         "--format", "markdown")
        self.assert_ok(done)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.out.splitlines()
                if line.startswith("|")]
        self.assertEqual(rows[0][2:], ["rdma busbw", "rdma algbw", "tcp busbw", "tcp algbw"])
        self.assertEqual([row[:2] for row in rows[2:]], [["1", "2"], ["2", "4"]])
        self.assertEqual(rows[2][4:], ["-", "-"])  # within a node there is no network
        self.assertGreater(float(rows[3][2]), 3 * float(rows[3][4]), done)


class Pairs(cluster.SlurmCase):
    """The same hosts, one of them or one uplink made slow, or one rank stopped."""

    UP = ShapedLinks.UP
    SHAPE = ["root", "tbf", "burst", "256kb", "limit", "4mb", "rate"]

    def qdisc(self, where, action, device, *words):
        command = self.cluster.on(where, "tc", "qdisc", action, "dev", device, *words)
        self.assert_ok(self.begin(*command).wait(20))

    def pairs(self, *words):
        return self.srun("-N8", TOPRUN, "bench", "pairs", "--nproc-per-node", "1", "-b", "2M",
                         *words, limit=120)

    def test_none_is_slower(self):
        file = self.folder() / "pairs.json"
        done = self.pairs("--save", str(file))
        self.assert_ok(done)
        self.assertRegex(done.out, "\\A8 nodes: none is slower than the others, 28 pairs measured\n"
                                   f"  inside a rack  {RANGE}, median {GBPS} \\(4 pairs, 4 at a time\\)\n"
                                   f"  between racks  {RANGE}, median {GBPS} \\(24 pairs, \\d at a time\\)\n\\Z")
        report = json.loads(file.read_text())
        self.assertEqual(sorted((a, b) for a, b, *_ in report["pairs"]),
                         [(a, b) for a in range(8) for b in range(a + 1, 8)])

    def test_a_slow_host(self):
        bad = self.folder() / "bad"
        for where, device in (("n3", "eth0"), ("switches", "n3.0")):
            self.qdisc(where, "add", device, *self.SHAPE, "130mbit")
            self.addCleanup(self.qdisc, where, "del", device, "root")
        done = self.pairs("--exclude-bad", str(bad))
        self.assert_found(done)
        # Of 7 pairs, or, where at first only the one in its rack was clearly slow, of those measured again.
        self.assertRegex(done.out, r"\An3: .* in (\d of 7|3 of 3 compared) pairs, both directions\n  inside a rack .*\n.*\n\Z")
        self.assertEqual(bad.read_text(), "n3\n")

    def test_a_slow_uplink(self):
        bad = self.folder() / "bad"
        for device in ("up2", "down2"):
            self.qdisc("switches", "change", device, *self.SHAPE, "133mbit")
            self.addCleanup(self.qdisc, "switches", "change", device, *self.SHAPE, "400mbit")
        done = self.pairs("--exclude-bad", str(bad))
        self.assert_found(done)
        self.assertRegex(done.out, r"\Auplink of domain core/r2: .* both directions"
                                   r"(, not confirmed: .*)?\n  inside a rack .*\n.*\n\Z")
        self.assertEqual(bad.read_text(), "")  # its hosts work

    def test_of_two_racks_the_figures_are_told_and_not_whose_uplink_is_slow(self):
        for device in ("up1", "down1"):
            self.qdisc("switches", "change", device, *self.SHAPE, "40mbit")
            self.addCleanup(self.qdisc, "switches", "change", device, *self.SHAPE, "400mbit")
        done = self.srun("-w", "n0,n1,n4,n5", TOPRUN, "bench", "pairs", "--nproc-per-node", "1", "-b", "1M", limit=120)
        self.assert_ok(done)
        self.assertRegex(done.out, "\\A4 nodes: none is slower than the others, 6 pairs measured\n"
                                   f"  inside a rack  {RANGE}.*\n"
                                   "  between racks  .*0\\.0\\d+ Gbps.* \\(4 pairs, 2 at a time\\)\n"
                                   "  with only two racks toprun cannot tell which uplink is slow, .*\n\\Z")
        self.assertNotRegex(done.err, "round (\\d+) of \\1\\b")

    def assert_found(self, done):
        """A finding has a code of its own, and nothing has failed."""
        self.assertEqual(done.code, FOUND, done)
        self.assertRegex(done.err, r"8 ranks on 8 nodes, exit code 3: something was found\n")
        for word in ("rank 0 on", "last lines", "failed", "round 7 of 7", " 0 ms left"):
            self.assertNotIn(word, done.err)

    def test_a_rank_that_hangs_is_named_and_the_rest_is_measured(self):
        run = self.begin(*self.cluster.on("ctl", "srun", "-N8", TOPRUN, "bench", "pairs",
                                          "--nproc-per-node", "1", "-b", "4M", "-T", "2"))
        victim = support.wait_until(lambda: self.measuring_on(run, "n2"), 90, "a pair of n2")
        os.kill(victim, signal.SIGSTOP)
        done = run.wait(180)
        self.assertEqual(done.code, FOUND, done)
        self.assertRegex(done.out, r"(?m)^n2: .*hung")
        self.assertNotRegex(done.out, r"(?m)^n[0134567]: ")
        self.assert_nothing_left(run)

    def measuring_on(self, run, host):
        """The rank on a host, once it has sockets to the store, for others and to another rank."""
        for pid, line in run.processes().items():
            if "bench-worker" in line and "--no-python" not in line:
                try:
                    environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue  # it changes just now
                if f"TOPRUN_NODE_NAME={host}".encode() in environment and support.sockets_of(pid) >= 3:
                    return pid
        return None


class SlowPairs(cluster.SlurmCase):
    """Six hosts in three racks; what is slow is slower than a transfer's size and the limit allow for."""

    UP = ("--hosts", "6", "--racks", "3", "--uplink", "200mbit", "--slurm")

    def shape(self, verb, device, *words):
        command = self.cluster.on("switches", "tc", "qdisc", verb, "dev", device, *words)
        self.assert_ok(self.begin(*command).wait(20))

    def pairs(self):
        bad, saved = self.folder() / "bad", self.folder() / "pairs.json"
        done = self.srun("-N6", TOPRUN, "bench", "pairs", "--nproc-per-node", "1", "--exclude-bad", str(bad),
                         "--save", str(saved), limit=200)
        self.assertEqual(done.code, FOUND, done)
        states = {state for *_, state in json.loads(saved.read_text())["pairs"]}
        self.assertEqual(states, {"measured"}, done)
        return [line for line in done.out.splitlines() if not line.startswith("  ")], bad.read_text()

    def test_an_uplink_of_a_tenth_of_its_rate_hangs_nobody(self):
        rate = ["root", "tbf", "burst", "256kb", "limit", "4mb", "rate"]
        self.shape("change", "up1", *rate, "20mbit")
        self.addCleanup(self.shape, "change", "up1", *rate, "200mbit")
        found, bad = self.pairs()
        self.assertEqual([line.split(":")[0] for line in found], ["uplink of domain core/r1"], found)
        self.assertEqual(bad, "")

    def test_a_host_that_receives_slowly_is_named_alone(self):
        self.shape("add", "n3.0", "root", "tbf", "rate", "30mbit", "burst", "256kb", "limit", "1mb")
        self.addCleanup(self.shape, "del", "n3.0", "root")
        found, bad = self.pairs()
        self.assertEqual([line.split(":")[0] for line in found], ["n3"], found)
        self.assertEqual(bad, "n3\n")


class Bisection(cluster.SlurmCase):
    """A collective that hangs because of one node, or of the way between two."""

    UP = ShapedLinks.UP

    def bisect(self, *command):
        done = self.srun("-N8", *command, "--nproc-per-node", "1", "-b", "256K", "--bisect", "-T",
                         "2", limit=150)
        self.assertEqual(done.code, FOUND, done)
        self.assertNotIn("last lines", done.err)
        return done

    def shape_the_way(self, host, other):
        """From one host to another hardly a byte passes; to the rest all does."""
        address = self.begin(*self.cluster.on(other, "ip", "-4", "-o", "addr", "show", "eth0"))
        address = address.wait(20).out.split()[3].split("/")[0]
        for words in ("qdisc add dev eth0 root handle 1: htb default 1",
                      "class add dev eth0 parent 1: classid 1:1 htb rate 20gbit burst 1m cburst 1m",
                      "class add dev eth0 parent 1: classid 1:2 htb rate 8bit burst 20k cburst 20k",
                      "filter add dev eth0 parent 1: protocol ip u32 match ip dst "
                      f"{address}/32 flowid 1:2"):
            self.assert_ok(self.begin(*self.cluster.on(host, "tc", *words.split())).wait(20))
        self.addCleanup(lambda: self.begin(*self.cluster.on(
            host, "tc", "qdisc", "del", "dev", "eth0", "root")).wait(20))

    def test_the_way_between_two_nodes(self):
        self.shape_the_way("n1", "n5")
        done = self.bisect(TOPRUN, "bench", "all_reduce")
        self.assertEqual(done.out,
                         "n1 – n5: all_reduce hangs between them, and not with others\n")
        self.assertIn("2 nodes (n1, n5) hung", done.err)

    def test_a_node_whose_gpu_hangs(self):
        fakes = pathlib.Path(TOPRUN).resolve().parent / "fake_gpu"
        start = ('[ "$SLURMD_NODENAME" != n6 ] || export FAKE_CUDA_HANGS=1; '
                 f'LD_LIBRARY_PATH={fakes} FAKE_NCCL_DIR={self.folder()} exec "$@"')
        done = self.bisect("sh", "-c", start, "sh", TOPRUN, "bench", "all_reduce", "--backend",
                           "nccl")
        self.assertEqual(done.out, "n6: all_reduce hangs with this node, and not without it\n")
        self.assertRegex(done.err, r"8 nodes \(n0, .*\) hung: ")

    def test_nothing_hangs(self):
        done = self.srun("-N8", TOPRUN, "bench", "alltoall", "--nproc-per-node", "2", "-b", "256K",
                         "--bisect")
        self.assert_ok(done)
        self.assertEqual(done.out, "8 nodes: alltoall does not hang\n")


if __name__ == "__main__":
    unittest.main()
