"""The shapes that recorded_jobs.py plays: what the ranks of a job call, and what is odd with one of them."""

import dataclasses
import os
import typing

import torch
import torch._dynamo  # which optimizers import
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
import torch.nn as nn
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

SHAPES = []


@dataclasses.dataclass
class Expected:
    """What follows from the dumps of the defect."""
    kind: str
    operation: str  # without its backend
    group: str = "default_pg"  # the description, or a name
    ranks: tuple = (3,)
    blames: bool = True
    gloo: str = "same"  # of Gloo's own dumps, which tell no members and no sends: same, unclear, silence


@dataclasses.dataclass
class Shape:
    name: str
    defect: str
    expected: Expected
    play: typing.Callable
    odd: int = 3
    world: int = 4


def shape(defect, kind, operation, odd=3, world=4, **expected):
    def adds(play):
        expected.setdefault("ranks", (odd,))
        SHAPES.append(Shape(play.__name__, defect, Expected(kind, operation, **expected), play, odd, world))
        return play
    return adds


def ones(*sizes, dtype=torch.float32):
    return torch.ones(*sizes, dtype=dtype)


def reduces(times=1, group=None):
    for _ in range(times):
        dist.all_reduce(ones(3, 4), group=group)


def parts(case, *sizes):
    return [ones(*sizes) for _ in range(case.world)]


# Single operations.

@shape("late", "behind", "all_reduce")
def all_reduce(case):
    reduces(2)
    case.odd_holds()
    reduces(2)


@shape("operation", "mismatch", "all_reduce")
def another_operation(case):
    reduces(2)
    if case.is_odd:
        dist.broadcast(ones(3, 4), 3)
    reduces()


@shape("dtype", "mismatch", "all_reduce")
def another_dtype(case):
    reduces()
    dist.all_reduce(ones(5, dtype=torch.int32 if case.is_odd else torch.float32))
    reduces()


@shape("size", "mismatch", "broadcast")
def another_size(case):
    dist.broadcast(ones(8 if case.is_odd else 4), 0)
    reduces()


@shape("late", "behind", "broadcast", odd=0)
def broadcast_root(case):
    reduces()
    case.odd_holds()
    dist.broadcast(ones(6), 0)


@shape("late", "behind", "broadcast")
def broadcast_receiver(case):
    reduces()
    case.odd_holds()
    dist.broadcast(ones(6), 0)
    reduces()


@shape("late", "behind", "reduce")
def reduce(case):
    dist.reduce(ones(6), 0)
    case.odd_holds()
    dist.reduce(ones(6), 0)
    reduces()


@shape("late", "behind", "all_gather")
def all_gather(case):
    dist.all_gather(parts(case, 6), ones(6))
    case.odd_holds()
    dist.all_gather(parts(case, 6), ones(6))


@shape("operation", "mismatch", "all_gather")
def all_gather_into_tensor(case):
    dist.all_gather_into_tensor(ones(4 * case.world), ones(4))
    if case.is_odd:
        dist.barrier()
    dist.all_gather_into_tensor(ones(4 * case.world), ones(4))


@shape("late", "behind", "all_reduce")
def reduce_scatter(case):
    dist.reduce_scatter(ones(2, 3), parts(case, 2, 3))
    case.odd_holds()
    dist.reduce_scatter_tensor(ones(4), ones(4 * case.world))


@shape("late", "behind", "gather", odd=1)
def gather(case):
    for _ in range(2):
        reduces()
        dist.gather(ones(4), parts(case, 4) if case.rank == 0 else None, 0)
        dist.scatter(ones(4), parts(case, 4) if case.rank == 0 else None, 0)
    reduces()
    case.odd_holds()
    dist.gather(ones(4), parts(case, 4) if case.rank == 0 else None, 0)
    reduces()


@shape("late", "behind", "scatter", odd=2)
def scatter(case):
    dist.gather(ones(4), parts(case, 4) if case.rank == 2 else None, 2)
    dist.scatter(ones(4), parts(case, 4) if case.rank == 2 else None, 2)
    case.odd_holds()
    dist.scatter(ones(4), parts(case, 4) if case.rank == 2 else None, 2)


@shape("late", "behind", "all_to_all")
def all_to_all(case):
    for _ in range(2):
        dist.all_to_all(parts(case, 2), parts(case, 2))
    case.odd_holds()
    dist.all_to_all(parts(case, 2), parts(case, 2))


@shape("late", "behind", "all_to_all")
def uneven_all_to_all(case):
    def exchanges():
        gives = [case.rank + 1] * case.world
        takes = [other + 1 for other in range(case.world)]
        dist.all_to_all_single(ones(sum(takes)), ones(sum(gives)), takes, gives)
    exchanges()
    case.odd_holds()
    exchanges()


@shape("late", "behind", "barrier", odd=1)
def barrier(case):
    dist.barrier()
    case.odd_holds()
    dist.barrier()


@shape("late", "behind", "all_reduce")
def monitored_barrier(case):
    dist.monitored_barrier()
    reduces()
    dist.monitored_barrier()
    case.odd_holds()
    reduces()


@shape("late", "behind", "all_gather", odd=2)
def objects(case):
    things = [None] * case.world
    dist.all_gather_object(things, {"rank": case.rank, "text": "x" * case.rank})
    dist.broadcast_object_list(things, 0)
    dist.gather_object("x" * case.rank, things if case.rank == 1 else None, 1)
    dist.scatter_object_list([None], list("abcd") if case.rank == 2 else None, 2)
    case.odd_holds()
    dist.gather_object("x" * case.rank, things if case.rank == 1 else None, 1)


@shape("late", "behind", "all_reduce")
def ahead(case):
    """Calls without a wait: the ranks have come differently far."""
    works = []
    for i in range(6 - case.rank):
        if i == 2:
            case.odd_holds()
        works.append(dist.all_reduce(ones(4), async_op=True)) if case.defect or i < 3 else None
    for work in works:
        work.wait()


@shape("late", "behind", "all_reduce")
def all_reduce_coalesced(case):
    for i in range(2):
        if i == 1:
            case.odd_holds()
        dist.all_reduce_coalesced([ones(4), ones(2, 3)])


@shape("late", "behind", "all_reduce")
def coalescing(case):
    for i in range(2):
        if i == 1:
            case.odd_holds()
        with dist._coalescing_manager():
            dist.all_reduce(ones(4))
            dist.all_reduce(ones(5))


@shape("late", "behind", "all_gather", odd=1)
def all_gather_coalesced(case):
    for i in range(2):
        if i == 1:
            case.odd_holds()
        with dist._coalescing_manager():
            dist.all_gather_into_tensor(ones(4 * case.world), ones(4))
            dist.all_gather_into_tensor(ones(4 * case.world), ones(4))


# Groups.

@shape("late", "behind", "all_reduce", group="2")
def uneven_groups(case):
    first, second = dist.new_group([0, 1]), dist.new_group([2, 3])
    reduces(5, first) if case.rank < 2 else reduces(2, second)
    case.odd_holds()
    reduces(1, first if case.rank < 2 else second)


@shape("late", "behind", "all_reduce", group="2", gloo="unclear")
def never_in_its_group(case):
    """The rank has made no call at all in the group."""
    first, second = dist.new_group([0, 1]), dist.new_group([2, 3])
    reduces()
    case.odd_holds()
    reduces(2, first if case.rank < 2 else second)


@shape("operation", "mismatch", "all_reduce", group="2", ranks=(3,), blames=False)
def mismatch_in_a_group(case):
    first, second = dist.new_group([0, 1]), dist.new_group([2, 3])
    reduces(3, first if case.rank < 2 else second)
    if case.is_odd:
        dist.barrier(group=second)
    reduces(1, first if case.rank < 2 else second)


@shape("late", "behind", "broadcast", group="last", odd=3)
def counters_differ(case):
    """Each rank is in other groups than the next one, so the counters of the processes differ, and so does the order in
    which ranks call in them for the first time."""
    made = [(ranks, dist.new_group(ranks, group_desc=name)) for ranks, name in
            (([0, 1], "first"), ([1, 2, 3], "middle"), ([0, 2], "pair"), ([0, 1, 2, 3], "last"))]
    works = []
    for ranks, group in made if case.rank % 2 else reversed(made):
        if case.rank in ranks:
            works += [dist.all_reduce(ones(4), group=group, async_op=True) for _ in range(1 + len(ranks))]
    for work in works:
        work.wait()
    case.odd_holds()
    dist.broadcast(ones(2), 3, group=made[3][1])


@shape("late", "behind", "all_reduce", group="0", odd=2)
def made_again(case):
    """All groups are destroyed and made again: their names come again, with other ranks."""
    first = dist.new_group([0, 1])
    reduces(3)
    reduces(5, first)
    dist.destroy_process_group()
    case.join(dist.FileStore(os.environ["STORE_TWICE"], case.world))
    second = dist.new_group([0, 2])
    reduces(2, second)
    reduces()
    case.odd_holds()
    reduces()


@shape("late", "behind", "all_reduce", group="0", odd=1)
def late_after_made_again(case):
    """The rank has come to no call of the new groups."""
    reduces(3)
    dist.destroy_process_group()
    case.join(dist.FileStore(os.environ["STORE_TWICE"], case.world))
    case.odd_holds()
    reduces(2)


@shape("late", "behind", "all_reduce", group="again")
def a_group_made_again(case):
    for i in range(3):
        group = dist.new_group([1, 2, 3], group_desc="again")
        if case.rank != 0:
            reduces(2 + i, group)
            if i == 2:
                case.odd_holds()
            reduces(1, group)
        if i < 2:
            dist.destroy_process_group(group) if case.rank != 0 else None


@shape("order", "behind", "all_reduce", group="first")
def another_order(case):
    first, second = dist.new_group(group_desc="first"), dist.new_group(group_desc="second")
    reduces(2, first)
    reduces(2, second)
    for group in (second, first) if case.is_odd else (first, second):
        reduces(1, group)


@shape("late", "behind", "all_reduce", group="ring3")
def ring_of_groups(case):
    groups = [dist.new_group(sorted([i, (i + 1) % 4]), group_desc=f"ring{i}") for i in range(4)]
    for _ in range(2):
        for i in range(4):
            if case.rank in (i, (i + 1) % 4):
                reduces(1, groups[i])
    case.odd_holds()
    for i in reversed(range(4)):
        if case.rank in (i, (i + 1) % 4):
            reduces(1, groups[i])


# Training.

def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))


def trains(net, steps, case, late=None):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(steps):
        if step == late:
            case.odd_holds()
        net(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


@shape("late", "behind", "all_reduce", odd=1)
def ddp(case):
    trains(nn.parallel.DistributedDataParallel(model()), 3, case, late=2)


@shape("late", "behind", "all_reduce")
def ddp_without_sync(case):
    net = nn.parallel.DistributedDataParallel(model(), find_unused_parameters=True)
    for step in range(2):
        with net.no_sync():
            net(torch.ones(4, 8)).sum().backward()
        if step == 1:
            case.odd_holds()
        net(torch.ones(4, 8)).sum().backward()


@shape("late", "behind", "all_gather", odd=2)
def fsdp1(case):
    trains(FullyShardedDataParallel(model(), device_id=torch.device("cpu")), 3, case, late=2)


@shape("late", "behind", "all_gather")
def fsdp2(case):
    net = model()
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("dp",))
    for layer in (net[0], net[2], net):
        fully_shard(layer, mesh=mesh)
    trains(net, 3, case, late=2)


@shape("late", "behind", "all_gather", group="mesh_shard")
def hsdp(case):
    net = model()
    fully_shard(net, mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard")))
    trains(net, 3, case, late=2)


@shape("late", "behind", "all_reduce", group="mesh_tp")
def mesh_of_two(case):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    for step in range(3):
        if step == 2:
            case.odd_holds()
        reduces(3, mesh.get_group("tp"))
        reduces(1, mesh.get_group("dp"))


@shape("late", "behind", "all_reduce", group="mesh_tp", odd=5, world=8)
def mesh_of_three(case):
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("pp", "dp", "tp"))
    for step in range(2):
        if step == 1:
            case.odd_holds()
        for name, times in (("tp", 3), ("dp", 2), ("pp", 1)):
            reduces(times, mesh.get_group(name))


@shape("late", "behind", "all_reduce", group="mesh_tp")
def tensor_parallel(case):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    net = parallelize_module(model(), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    for step in range(3):
        if step == 2:
            case.odd_holds()
        net(torch.ones(4, 8)).sum().backward()
        reduces(1, mesh.get_group("dp"))


@shape("late", "behind", "all_gather")
def tensors_on_a_mesh(case):
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("all",))
    for step in range(2):
        spread = distribute_tensor(torch.ones(8, 4), mesh, [Shard(0)])
        if step == 1:
            case.odd_holds()
        spread.redistribute(mesh, [Replicate()]).to_local().sum().item()


@shape("late", "behind", "broadcast", odd=1)
def zero_redundancy(case):
    net = model()
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, lr=0.01)
    for step in range(2):
        net(torch.ones(4, 8)).sum().backward()
        if step == 1:
            case.odd_holds()
        optimizer.step()


@shape("late", "behind", "all_reduce")
def model_averaging(case):
    net = model()
    net(torch.ones(4, 8)).sum().backward()
    averager = PeriodicModelAverager(period=2)
    for step in range(5):
        if step == 4:
            case.odd_holds()
        averager.average_parameters(net.parameters())


@shape("late", "behind", "all_gather", odd=2)
def checkpoint(case):
    for step in range(2):
        if step == 1:
            case.odd_holds()
        checkpoints.save({"w": torch.ones(4)}, checkpoint_id=os.environ["STORE_TWICE"] + f".{step}")


# Sends and receives.

@shape("late", "behind", "recv 3<-2", odd=2, ranks=(2,), gloo="silence")
def chain(case):
    """Each rank receives of the one before it, and sends to the one behind it."""
    for step in range(3):
        if step == 2:
            case.odd_holds()
        if case.rank > 0:
            dist.recv(ones(4), case.rank - 1)
        if case.rank < case.world - 1:
            dist.send(ones(4), case.rank + 1)
    reduces() if case.defect is None else None


@shape("late", "behind", "recv 1<-0", odd=0, gloo="silence")
def exchange_in_batches(case):
    after, before = (case.rank + 1) % case.world, (case.rank - 1) % case.world
    for step in range(2):
        if step == 1:
            case.odd_holds()
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, ones(4), after),
                                        dist.P2POp(dist.irecv, ones(4), before)])
        for work in works:
            work.wait()


def pipeline(case, schedule, microbatches, steps):
    torch.manual_seed(0)
    stage = PipelineStage(nn.Linear(8, 8), case.rank, case.world, torch.device("cpu"))
    plan = schedule(stage, microbatches, loss_fn=lambda output, target: (output - target).sum())
    for step in range(steps):
        if step == steps - 1:
            case.odd_holds()
        if case.rank == 0:
            plan.step(torch.ones(microbatches, 8))
        elif case.rank == case.world - 1:
            plan.step(target=torch.ones(microbatches, 8), losses=[])
        else:
            plan.step()


@shape("late", "behind", "recv 3<-2", odd=2, ranks=(2,), gloo="silence")
def pipeline_gpipe(case):
    pipeline(case, ScheduleGPipe, 4, 2)


@shape("late", "behind", "recv 2<-1", odd=1, ranks=(1,), gloo="silence")
def pipeline_1f1b(case):
    pipeline(case, Schedule1F1B, 4, 2)


# Ranks that are gone.

@shape("no_dump", "silent", "all_reduce", blames=False, gloo="unclear")
def gives_no_dump(case):
    reduces(2)
    case.odd_holds()
    reduces()


@shape("died", "silent", "", blames=False, gloo="unclear")
def died(case):
    reduces(2)
    if case.is_odd:
        os._exit(1)
    reduces()
