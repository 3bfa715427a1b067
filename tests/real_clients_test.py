# ctest: TIMEOUT 300 LABELS torch
"""Real PyTorch clients of each generation at hand, on two agents of two ranks: collectives, and every
operation of the store that init_process_group found."""

import subprocess
import unittest

import support
from support import two_nodes

PROGRAM = """
import datetime, os, time
import torch, torch.distributed as dist

SECONDS = lambda n: datetime.timedelta(seconds=n)
dist.init_process_group("gloo", timeout=SECONDS(120))
rank, size = dist.get_rank(), dist.get_world_size()
assert (rank, size) == (int(os.environ["RANK"]), 4)
assert dist.is_torchelastic_launched()

total = torch.tensor([float(rank + 1)])
dist.all_reduce(total)
assert total.item() == 10, total
across = [dist.new_group(ranks) for ranks in ([0, 2], [1, 3])][rank % 2]  # one rank of each node
pair = torch.tensor([float(rank)])
dist.all_reduce(pair, group=across)
assert pair.item() == {0: 2, 1: 4}[rank % 2], pair
dist.barrier()
everybody = [None] * size
dist.all_gather_object(everybody, {"rank": rank, "node": os.environ["GROUP_RANK"]})
assert everybody == [{"rank": r, "node": str(r // 2)} for r in range(size)], everybody

def expect_time_out(action):
    start = time.monotonic()
    try:
        action()
    except RuntimeError:
        assert 0.5 < time.monotonic() - start < 30
    else:
        raise AssertionError("no time-out")

def use(store, other, prefix):
    key = lambda name: f"{prefix}{name}"
    store.set(key("set"), "value")
    assert other.get(key("set")) == b"value"
    assert [store.add(key("add"), 5), other.add(key("add"), -2)] == [5, 3]
    other.wait([key("set"), key("add")], SECONDS(10))
    expect_time_out(lambda: store.wait([key("never")], SECONDS(1)))
    if hasattr(store, "multi_get"):  # 1.13's time-out leaves a connection that is of no more use
        assert store.get(key("set")) == b"value"
    assert other.compare_set(key("cas"), "", "first") == b"first"
    assert other.compare_set(key("cas"), "first", "second") == b"second"
    assert other.compare_set(key("cas"), "wrong", "third") == b"second"
    other.set(key("extra"), "")
    assert [other.delete_key(key("extra")), other.delete_key(key("extra"))] == [True, False]
    done = ["set", "get", "add", "wait", "compare_set", "delete_key"]
    if hasattr(store, "multi_get"):
        other.multi_set([key("m1"), key("m2")], ["1", "2"])
        assert other.multi_get([key("m1"), key("m2")]) == [b"1", b"2"]
        other.append(key("m1"), "0")
        assert other.get(key("m1")) == b"10"
        done += ["multi_set", "multi_get", "append"]
    if hasattr(store, "queue_push"):
        other.queue_push(key("queue"), "a")
        other.queue_push(key("queue"), "b")
        assert other.queue_len(key("queue")) == 2
        assert [other.queue_pop(key("queue")) for _ in range(2)] == [b"a", b"b"]
        done += ["queue"]
    return done

def client():
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), None, False,
                         SECONDS(60), wait_for_workers=False)

done = use(client(), client(), f"own/{rank}/")
default = dist.distributed_c10d._get_default_store()
if hasattr(default, "multi_get"):
    assert use(default, default, f"default/{rank}/") == done
dist.barrier()
if rank == 0:  # the others wait, so that nobody else changes the number of keys
    store = client()
    before = store.num_keys()
    store.set("one more", "")
    assert store.num_keys() == before + 1 > 4
    store.delete_key("one more")
    assert store.num_keys() == before
dist.barrier()
print(f"rank {rank} done: {' '.join(done)}", flush=True)
dist.destroy_process_group()
"""

BASIC = "set get add wait compare_set delete_key"


class RealClients(support.TestCase):
    def expect(self, python, operations):
        script = self.folder() / "client.py"
        script.write_text(PROGRAM)
        port = support.free_port()
        runs = [self.begin(support.binary(), *two_nodes(port, rank), script,
                           env={"PYTHON_EXEC": python, "OMP_NUM_THREADS": "1", **support.WARM}) for rank in (0, 1)]
        for node, run in enumerate(runs):
            finished = run.wait(140)
            self.assert_ok(finished)
            self.assertEqual(sorted(finished.out.splitlines()),
                             [f"rank {2 * node + r} done: {operations}" for r in (0, 1)])
            self.assert_nothing_left(run)

    def test_current_pytorch(self):
        self.expect(support.python(), BASIC + " multi_set multi_get append queue")

    def test_the_distribution_s_pytorch_1_13(self):
        python = "/usr/bin/python3"
        version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                                 capture_output=True, text=True)
        if version.returncode != 0:
            self.skipTest(f"{python} has no torch: install python3-torch 1.13")
        if not version.stdout.startswith("1.13"):
            self.skipTest(f"{python} has torch {version.stdout.strip()}, not 1.13")
        self.expect(python, BASIC)


if __name__ == "__main__":
    unittest.main()
