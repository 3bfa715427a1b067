"""A TCPStore of the user's own beside the launcher's, and what else is built upon the store."""

import datetime
import os

import torch
import torch.distributed as dist

SECONDS = lambda n: datetime.timedelta(seconds=n)

dist.init_process_group("gloo", timeout=SECONDS(120))
rank, ranks = dist.get_rank(), dist.get_world_size()
assert dist.is_torchelastic_launched()
own = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False) if rank == 0 else None
place = [None, None] if rank else ["localhost", own.port]
dist.broadcast_object_list(place, src=0)
store = own or dist.TCPStore(*place, is_master=False, timeout=SECONDS(60), wait_for_workers=False)

# The same key in both stores is two keys.
ours = dist.distributed_c10d._get_default_store()
ours.set(f"who/{rank}", "launcher")
store.set(f"who/{rank}", "user")
for peer in range(ranks):
    assert (ours.get(f"who/{peer}"), store.get(f"who/{peer}")) == (b"launcher", b"user")
assert store.add("arrived", 1) <= ranks
dist.barrier()
assert store.add("arrived", 0) == ranks

# A process group on the user's store, as torchrec, vLLM and others make it.
prefixed = dist.PrefixStore("own", store)
group = dist.ProcessGroupGloo(prefixed, rank, ranks, SECONDS(60))
total = torch.tensor([float(rank)])
group.allreduce([total]).wait()
assert total.item() == sum(range(ranks)), total

evens = dist.new_group([0, 2])  # one rank of each node
if rank in (0, 2):
    pair = torch.tensor([float(rank)])
    dist.all_reduce(pair, group=evens)
    assert pair.item() == 2, pair
words = [{"from": rank, "node": [1, 2]} if rank == 3 else None]
dist.broadcast_object_list(words, src=3)
assert words == [{"from": 3, "node": [1, 2]}], words

dist.monitored_barrier(timeout=SECONDS(60))
print(f"rank {rank} done", flush=True)
dist.destroy_process_group()
os._exit(0)  # without the interpreter's shutdown: examples/train_ddp.py says why
