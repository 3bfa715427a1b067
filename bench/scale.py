#!/usr/bin/env python3
"""One real root and thousands of agents over loopback: what it costs, and how soon all hear of a death.

    make bench-scale      or: python3 bench/scale.py [--agents 12000] [--rounds 3]

TOPRUN names the binary (build/release/toprun). The agents are scale_load's, one process (built if
need be): the real handshake with a secret, the real messages, each agent's own state machine and its
probe of the store's port, but no workers. First all join, are assigned, start and end; the root's
CPU time is that of its whole process tree, from its start to its end, keeper and own rank included.
After each round scale_bare exchanges as many messages of about these sizes over as many connections:
what this machine's kernel takes for them.
In a second run one agent dies while all others' ranks run.
Exit code 1 if a figure misses its target.
"""

import argparse
import json
import os
import pathlib
import secrets
import socket
import statistics
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
CPU_LIMIT_US = 100      # of the root, per agent
MEMORY_LIMIT_KIB = 25   # of the root, per agent, what it needs without agents included
TOLD_LIMIT_S = 1.0      # from a death until the last agent was told
START_LIMIT_S = 20
END_LIMIT_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def built(target):
    build = REPOSITORY / "build/release"
    subprocess.run(["cmake", "--build", build, "--target", target], check=True,
                   stdout=subprocess.DEVNULL)
    return str(build / "bench" / target)


def wait_until_it_listens(port, process):
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    sys.exit("scale.py: the root does not listen")


def agent_of(keeper):
    """The root's agent is its keeper's only child."""
    children = pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    if len(children) != 1:
        sys.exit(f"scale.py: the root's keeper has the children {children}")
    return children[0]


def run(toprun, load, agents, ending):
    """The load's figures, and the resources that the root's whole tree has used."""
    port, job = free_port(), "scale"
    environment = {**os.environ, "TOPRUN_SECRET": secrets.token_hex(16)}
    rank = ["true"] if ending == "end" else ["sleep", "600"]
    command = [toprun, "run", "--nnodes", str(agents + 1), "--node-rank", "0", "--nproc-per-node", "1",
               "--master-addr", "127.0.0.1", "--master-port", str(port), "--rdzv-id", job,
               "--no-python", *rank]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as root:
        try:
            wait_until_it_listens(port, root)
            loaded = subprocess.run([load, str(port), str(agents), job, agent_of(root.pid), ending],
                                    env=environment, stdout=subprocess.PIPE, text=True)
            _, status, usage = os.wait4(root.pid, 0) if loaded.returncode == 0 else (0, None, None)
        finally:
            if root.poll() is None:
                root.terminate()
        words = root.stderr.read().strip()
    if loaded.returncode != 0:
        sys.exit(f"scale.py: the load failed\n{words[-2000:]}")
    code = os.waitstatus_to_exitcode(status)
    if (code == 0) != (ending == "end"):
        sys.exit(f"scale.py: the root ended with {code}\n{words[-2000:]}")
    return json.loads(loaded.stdout), usage


def bare_cost(bare, agents):
    """CPU in us per agent of a root that only receives and sends."""
    used = json.loads(subprocess.run([bare, str(agents)], stdout=subprocess.PIPE, check=True, text=True,
                                     timeout=END_LIMIT_S).stdout)
    return (used["user_s"] + used["kernel_s"]) / agents * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=12_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    if not os.access(toprun, os.X_OK):
        sys.exit(f"scale.py: there is no {toprun}: run `make`")
    for name in [name for name in os.environ if name.startswith(("SLURM_", "TOPRUN_", "PET_"))]:
        if name != "TOPRUN":
            del os.environ[name]  # this job is started by hand, wherever we may run
    load, bare = built("scale_load"), built("scale_bare")

    print(f"{args.agents:,} agents and one root; load {os.getloadavg()[0]:.1f} on "
          f"{os.cpu_count()} CPUs")
    print(f"{'':<9} {'joined s':>9} {'assigned':>9} {'started':>9} {'ended':>9} {'root: user':>11} "
          f"{'kernel':>7} {'us/agent':>9} {'MiB':>6}", flush=True)
    costs, floors, memory_kib = [], [], []
    for number in range(args.rounds):
        figures, usage = run(toprun, load, args.agents, "end")
        costs.append((usage.ru_utime + usage.ru_stime) / args.agents * 1e6)
        floors.append(bare_cost(bare, args.agents))
        memory_kib.append(usage.ru_maxrss / args.agents)
        walls = [figures[phase]["wall_s"] for phase in ("joined", "assigned", "started", "ended")]
        print(f"round {number + 1:<3} " + " ".join(f"{wall:9.2f}" for wall in walls) +
              f" {usage.ru_utime:11.2f} {usage.ru_stime:7.2f} {costs[-1]:9.1f} "
              f"{usage.ru_maxrss / 1024:6.0f}", flush=True)
        shares = ", ".join(f"{phase} {figures[phase]['cpu_s']:.2f}"
                           for phase in ("joined", "assigned", "started", "ended"))
        print(f"          of it until all had: {shares} s", flush=True)
    cost, floor = statistics.median(costs), statistics.median(floors)
    ratio = statistics.median(ours / least for ours, least in zip(costs, floors))
    print(f"plain sockets with as many messages: {floor:.1f} us per agent; the root takes {ratio:.2f} x that")
    met = cost <= CPU_LIMIT_US
    print(f"root CPU per agent, median: {cost:.1f} us  <= {CPU_LIMIT_US}: {'met' if met else 'MISSED'}")
    most_kib = max(memory_kib)
    is_small = most_kib <= MEMORY_LIMIT_KIB
    print(f"root memory per agent, at most: {most_kib:.1f} KiB  <= {MEMORY_LIMIT_KIB}: "
          f"{'met' if is_small else 'MISSED'}")

    told = []
    for number in range(args.rounds):
        figures, _ = run(toprun, load, args.agents, "die")
        told.append(figures["told"]["wall_s"])
        print(f"round {number + 1:<3} one agent dies: the last of the others is told after "
              f"{told[-1]:.3f} s, for {figures['told']['cpu_s']:.3f} s of the root's CPU", flush=True)
    soon = statistics.median(told) <= TOLD_LIMIT_S
    print(f"told, median: {statistics.median(told):.3f} s  <= {TOLD_LIMIT_S:g}: "
          f"{'met' if soon else 'MISSED'}")
    return 0 if met and is_small and soon else 1


if __name__ == "__main__":
    sys.exit(main())
