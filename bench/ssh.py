"""What starting a job by ssh costs: `toprun --hosts` beside as many bare `ssh HOST true`, in turns.

    python3 bench/ssh.py [--hosts 4,64] [--rounds 5] [--json FILE]

Each virtual host has a real sshd of its own. Both sides keep at most 16 logins under way, with the
same ssh options; toprun's program is in the hosts' caches already, its workers are `true`. Needs
root and a built toprun (TOPRUN, else build/release/toprun). See README.md.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
import cluster
import sshd
import support

AT_ONCE = 16
OPTIONS = "-o BatchMode=yes -o ConnectTimeout=8 -T"
RUN_LIMIT_S = 180
TARGET_WALL, TARGET_CPU_S = 1.15, 0.005  # of the bare logins; own CPU per host


def measured(argv, env):
    """(wall, CPU of the process itself without its children) of a command that must succeed."""
    start = time.perf_counter()
    run = support.Run(argv, env=env)
    pid = run.process.pid
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    wall = time.perf_counter() - start
    cpu = int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    finished = run.wait(RUN_LIMIT_S)
    if finished.code != 0:
        sys.exit(f"{' '.join(map(str, argv))}: {finished}")
    return wall, cpu


def compare(hosts, rounds, binary):
    """Medians over rounds in which the two take turns."""
    virtual = cluster.Cluster("--hosts", str(hosts))
    folder = tempfile.mkdtemp(prefix="toprun-bench-")
    names = [f"n{i}" for i in range(hosts)]
    virtual.up()
    try:
        daemons = sshd.Daemons(virtual, names, folder)
        daemons.start_all()
        env = {"TOPRUN_SSH": daemons.ssh()}
        loop = (f"printf '%s\\n' {' '.join(names)} | "
                f"xargs -P {AT_ONCE} -I HOST {daemons.ssh()} {OPTIONS} HOST true")
        bare = virtual.on("ctl", "sh", "-c", loop)
        ours = virtual.on("ctl", binary, "--hosts", f"n[0-{hosts - 1}]", "--no-python", "true")
        measured(ours, env)  # fills the caches
        rows = [(measured(bare, env), measured(ours, env)) for _ in range(rounds)]
        daemons.stop_all()
    finally:
        virtual.down()
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "hosts": hosts,
        "bare_s": statistics.median(bare[0] for bare, _ in rows),
        "toprun_s": statistics.median(ours[0] for _, ours in rows),
        "wall_ratio": statistics.median(ours[0] / bare[0] for bare, ours in rows),
        "own_cpu_per_host_s": statistics.median(ours[1] for _, ours in rows) / hosts,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", default="4,64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    binary = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    if not os.access(binary, os.X_OK):
        sys.exit(f"{binary} is not built: run `make`")
    results = []
    print(f"{'hosts':>5} {'bare ssh':>9} {'toprun':>8} {'ratio':>6} {'own CPU per host':>17}")
    for hosts in map(int, options.hosts.split(",")):
        result = compare(hosts, options.rounds, binary)
        results.append(result)
        print(f"{hosts:5} {result['bare_s']:7.2f} s {result['toprun_s']:6.2f} s "
              f"{result['wall_ratio']:6.2f} {result['own_cpu_per_host_s'] * 1e3:14.2f} ms", flush=True)
    print(f"aims: ratio at most {TARGET_WALL}, own CPU per host at most {TARGET_CPU_S * 1e3:.0f} ms")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
