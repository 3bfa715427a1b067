"""Shows which rank runs where: one row per node, with the host's location in the network.

    toprun topology.py                  on one machine, in a Slurm job, under srun
    torchrun --nproc-per-node 8 topology.py
    srun python topology.py --topology  one Slurm task per rank, without a launcher
"""

import argparse
import os
import pathlib
import socket
import subprocess
import sys
import urllib.request

import torch
import torch.distributed as dist


def take_ranks_from_slurm():
    """Fills in what a launcher would have set, from the variables of the Slurm step."""
    env = os.environ
    if "SLURM_PROCID" not in env:
        sys.exit("topology.py: --topology needs Slurm: type `srun python topology.py --topology`")
    env.setdefault("RANK", env["SLURM_PROCID"])
    env.setdefault("WORLD_SIZE", env["SLURM_NPROCS"])
    env.setdefault("LOCAL_RANK", env["SLURM_LOCALID"])
    if "MASTER_ADDR" not in env:
        nodes = subprocess.check_output(
            ["scontrol", "show", "hostnames", env["SLURM_STEP_NODELIST"]], text=True)
        env["MASTER_ADDR"] = nodes.split()[0]  # Slurm puts task 0 on the first node of the step
    # A different port for every step, above the port range that Linux uses for outgoing connections.
    step = int(env["SLURM_JOB_ID"]) * 7 + int(env["SLURM_STEP_ID"])
    env.setdefault("MASTER_PORT", str(61000 + step % 4536))


def google_physical_host():
    """/cluster/rack/host of a Google VM; None elsewhere, or without a compact placement policy."""
    vendor = pathlib.Path("/sys/class/dmi/id/sys_vendor")
    if not vendor.exists() or "Google" not in vendor.read_text():
        return None  # not a Google VM: send no request
    # By address and without a proxy, so that the limit of one second holds.
    request = urllib.request.Request(
        "http://169.254.169.254/computeMetadata/v1/instance/attributes/physical_host",
        headers={"Metadata-Flavor": "Google"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        return direct.open(request, timeout=1).read().decode().strip() or None
    except OSError:
        return None


def slurm_location():
    """/switch/…/node from Slurm's topology plugin; None if Slurm has no switches or blocks."""
    pattern = os.environ.get("SLURM_TOPOLOGY_ADDR_PATTERN", "node")
    levels_above_node = pattern.count(".")
    if levels_above_node == 0:
        return None
    # Split only at this many dots, because a node's own name may also contain dots.
    return "/" + "/".join(os.environ["SLURM_TOPOLOGY_ADDR"].split(".", levels_above_node))


def location():
    return (os.environ.get("TOPRUN_LOCATION") or slurm_location() or google_physical_host()
            or "unknown")


def print_table(rows):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topology", action="store_true",
                        help="started by srun itself: take rank and world size from Slurm")
    parser.add_argument("--title", help='line above the table, such as "Sorted by topology"')
    args = parser.parse_args()

    if args.topology:
        take_ranks_from_slurm()
    if "RANK" not in os.environ:
        sys.exit("topology.py: RANK is not set: start it with toprun, torchrun or "
                 "`srun python topology.py --topology`")
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
        dist.init_process_group("nccl")
    else:
        dist.init_process_group("gloo")

    # The first process of each node speaks for it.
    mine = (rank, socket.gethostname(), location()) if local_rank == 0 else None
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, mine)

    if rank == 0:
        if args.title:
            print(args.title)
        print_table([("rank", "hostname", "physical_host")] + [row for row in everybody if row])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
