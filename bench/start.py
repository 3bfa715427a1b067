"""From Enter to the first all-reduce, and from a failure to the next one: toprun, cold and with --warm, beside
torchrun and bare Pythons, in one run; with --prefetch where no file is in the page cache; and an environment that
--stage copies to eight virtual hosts.

    make bench-start      or: python3 bench/start.py [--rounds 5] [--only start|prefetch|stage] [--json FILE]

TOPRUN names the binary (build/release/toprun), PYTHON a Python with torch (build/venv). See README.md for
what each figure means.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
VCLUSTER = [sys.executable, "-B", str(REPOSITORY / "tools/vcluster")]
RANKS = 4
PORT = 29731
LIMIT_S = 180
SLOW_MS = 1  # each request to the file server that slow_files.py is
# {figure: (its limit, what it is a ratio of)}
LIMITS = {"start toprun": 0.8, "start toprun --warm": 0.4, "restart toprun --warm": 0.15, "memory toprun --warm": 0.5,
          "stage toprun --stage": 1.2, "floor toprun": 1.05, "floor toprun --warm": 1.15}
STAGED_BYTES = 1 << 30
UPLINK = "400mbit"

STARTS = """
import os, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(4))
os.write(1, b"reduced %.6f\\n" % time.time())
dist.destroy_process_group()
"""
# Rank 1 leaves the first attempt by itself; what is asked is when the second has reduced.
RESTARTS = """
import os, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(4))
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if os.environ["RANK"] == "1":
        os.write(1, b"failed %.6f\\n" % time.time())
        os._exit(7)
    time.sleep(60)
os.write(1, b"reduced %.6f\\n" % time.time())
dist.destroy_process_group()
"""
WAITS = """
import time
import torch.distributed as dist
dist.init_process_group("gloo")
time.sleep(600)
"""
# What --warm cannot be faster than: one import, a fork for each rank.
FORKS = """
import os, runpy, sys
import torch, torch.distributed
ranks = []
for rank in range(int(os.environ["WORLD_SIZE"])):
    ranks.append(os.fork())
    if ranks[-1] == 0:
        os.environ["RANK"] = str(rank)
        runpy.run_path(sys.argv[1], run_name="__main__")
        os._exit(0)
for rank in ranks:
    os.waitpid(rank, 0)
"""
IDLES = """
import os, sys, time
import torch
os.write(1, b"idle\\n")
time.sleep(600)
"""


def python():
    return os.environ.get("PYTHON", str(REPOSITORY / "build/venv/bin/python"))


def launchers(*options):
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    return {"torchrun": [python(), "-m", "torch.distributed.run", *options], "toprun": [toprun, *options],
            "toprun --warm": [toprun, "--warm", *options]}


def environment():
    # torchrun restarts in place only with the first.
    return {"PYTHON_EXEC": python(), **os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "OMP_NUM_THREADS": "1"}


def stamps(word, text):
    return [float(stamp) for stamp in re.findall(rf"{word} (\d+\.\d+)", text)]


def output_of(command):
    done = subprocess.run(command, env=environment(), cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def first_reduce(command, ranks=RANKS):
    begun = time.time()
    reduced = stamps("reduced", output_of(command))
    assert len(reduced) == ranks, command
    return max(reduced) - begun


def bare_reduce(*words, pythons=RANKS):
    """Pythons that get their ranks and nothing else."""
    base = {**environment(), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(PORT)}
    begun = time.time()
    running = [subprocess.Popen([python(), "-u", *words], env={**base, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
               for rank in range(pythons)]
    reduced = [stamp for one in running for stamp in stamps("reduced", one.communicate(timeout=LIMIT_S)[0])]
    assert len(reduced) == RANKS, words
    return max(reduced) - begun


def restart(command):
    text = output_of(command)
    return max(stamps("reduced", text)) - stamps("failed", text)[0]


def pss_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"^Pss: +(\d+) kB", file.read(), re.M)[1]) / 1024


def below(pid):
    found = [pid]
    for parent in found:
        for children in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in children.read_text().split()]
    return found


def idle_memory(command):
    """The memory of all of a launch's Pythons, a warm parent among them, once the ranks have imported."""
    with tempfile.TemporaryFile("w+") as output:
        run = subprocess.Popen(command, env=environment(), stdout=output, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + LIMIT_S
            while pathlib.Path(f"/proc/self/fd/{output.fileno()}").read_text().count("idle") < RANKS:
                assert run.poll() is None and time.monotonic() < deadline, command
                time.sleep(0.05)
            return sum(pss_mib(pid) for pid in below(run.pid)
                       if "python" in pathlib.Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0])
        finally:
            run.send_signal(signal.SIGTERM)
            run.wait()


@contextlib.contextmanager
def two_hosts():
    """Words that run a command on both of two virtual hosts at once."""
    name = f"start{os.getpid()}"
    subprocess.run([*VCLUSTER, "up", "--name", name, "--hosts", "2"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield [*VCLUSTER, "run-all", "--name", name]
    finally:
        subprocess.run([*VCLUSTER, "down", "--name", name], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def far_away(prefix, point):
    """The environment on a distant file server, of which this host has read nothing yet."""
    server = subprocess.Popen([sys.executable, "-S", str(REPOSITORY / "bench/slow_files.py"), prefix, point, str(SLOW_MS)])
    try:
        while not os.path.ismount(point):
            assert server.poll() is None, "slow_files.py"
            time.sleep(0.02)
        yield
    finally:
        subprocess.run(["umount", "--lazy", point], check=True)
        server.wait()


@contextlib.contextmanager
def forgotten(prefix, _):
    """The environment where it is, without what the page cache has of it and nobody uses now."""
    for folder, _, files in os.walk(prefix):
        for name in files:
            with contextlib.suppress(OSError):
                file = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)
    yield


def cold_start(place, prefix, point, command, ranks):
    with place(prefix, point):
        return first_reduce(command, ranks)


def make_record(cache, command):
    run = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + LIMIT_S
    while not list(pathlib.Path(cache).glob("toprun/prefetch/*.files")):
        assert run.poll() is None and time.monotonic() < deadline, command
        time.sleep(0.1)
    run.send_signal(signal.SIGTERM)
    run.wait()


def prefetching(rounds, folder, scripts, results):
    """Cold starts on a distant file server (as root), and on the disk that has the environment."""
    prefix = os.path.dirname(os.path.dirname(python()))
    for key, place, where in (("far", far_away, f"a file server {SLOW_MS} ms away"), ("disk", forgotten, "the disk")):
        if place is far_away and os.geteuid() != 0:
            continue
        point, cache = f"{folder}/{key}", f"{folder}/cache-{key}"
        pathlib.Path(point).mkdir()
        os.environ.update(XDG_CACHE_HOME=cache, PYTHON_EXEC=f"{point if place is far_away else prefix}/bin/python")
        words = launchers("--nproc-per-node", str(RANKS))["toprun"]
        with place(prefix, point):
            make_record(cache, [*words, "--prefetch", scripts["waits"]])
        cases = {name: lambda more=more: cold_start(place, prefix, point, [*words, *more, scripts["starts"]], RANKS)
                 for name, more in (("toprun", []), ("--prefetch", ["--prefetch"]), ("--warm", ["--warm"]),
                                    ("--warm --prefetch", ["--warm", "--prefetch"]))}
        show(f"Command to the end of the first all-reduce, nothing in the page cache, {where}", "s", f"cold {key}",
             in_turns(rounds, cases), "toprun", results)
        del os.environ["XDG_CACHE_HOME"], os.environ["PYTHON_EXEC"]


def in_turns(rounds, cases):
    """{name: [figure of each round]}; one of each after the other, so that all see the same weather."""
    figures = {name: [] for name in cases}
    for number in range(rounds):
        for name, measure in cases.items():
            figures[name].append(measure())
        print(f"  round {number + 1} of {rounds}", file=sys.stderr)
    return figures


def show(title, unit, key, figures, peer, results):
    print(title)
    for name, values in figures.items():
        compare(unit, key, name, values, (peer, figures[peer]), results)
    print()


def compare(unit, key, name, values, against, results):
    peer, others = against
    ratio = statistics.median(value / other for value, other in zip(values, others))
    limit = LIMITS.get(f"{key} {name}")
    verdict = f"  <= {limit}: {'met' if ratio <= limit else 'MISSED'}" if limit else ""
    print(f"  {name:17} {statistics.median(values):9.2f} {unit}  {ratio:5.2f} x {peer}{verdict}")
    results[f"{key} {name}"] = {"values": values, "unit": unit, "ratio": ratio, "peer": peer}


def starting(rounds, scripts, results):
    here = launchers("--nproc-per-node", str(RANKS))
    cases = {name: lambda words=words: first_reduce([*words, scripts["starts"]]) for name, words in here.items()}
    cases["bare Pythons"] = lambda: bare_reduce(scripts["starts"])
    cases["bare forks"] = lambda: bare_reduce("-c", FORKS, scripts["starts"], pythons=1)
    starts = in_turns(rounds, cases)
    show("Command to the end of the first all-reduce, one node", "s", "start", starts, "torchrun", results)
    print("The same beside what no launcher can be faster than")
    for name, floor in (("toprun", "bare Pythons"), ("toprun --warm", "bare forks")):
        compare("s", "floor", name, starts[name], (floor, starts[floor]), results)
    print()
    again = launchers("--nproc-per-node", str(RANKS), "--max-restarts", "1")
    cases = {name: lambda words=words: restart([*words, scripts["restarts"]]) for name, words in again.items()}
    show("Failure of a rank to the first all-reduce of the next attempt", "s", "restart",
         in_turns(rounds, cases), "torchrun", results)
    if os.geteuid() == 0:
        with two_hosts() as on_both:
            apart = launchers("--nnodes", "2", "--nproc-per-node", str(RANKS // 2), "--rdzv-backend", "c10d",
                              "--rdzv-endpoint", f"n0:{PORT}")
            cases = {name: lambda words=words: first_reduce([*on_both, *words, scripts["starts"]])
                     for name, words in apart.items()}
            show("Command to the end of the first all-reduce, two virtual hosts", "s", "start on two hosts",
                 in_turns(rounds, cases), "torchrun", results)
    idle = {name: lambda words=words: idle_memory([*words, scripts["idles"]]) for name, words in here.items()
            if name != "torchrun"}
    show(f"Memory of {RANKS} idle ranks after import torch, with the warm parent", "MiB", "memory",
         in_turns(1, idle), "toprun", results)


def make_environment(folder):
    """A GiB as environments have it: half in a few large libraries, the rest in thousands of files."""
    left = STAGED_BYTES
    random = os.urandom(1 << 20)
    for number in range(10_000):
        size = left - (9_999 - number) * 10_000 if number == 9_999 else 110_000_000 if number < 5 else min(
            left // (10_000 - number), 2_000 + number * 11)
        path = pathlib.Path(folder, f"lib{number // 100}", f"file{number}.bin")
        path.parent.mkdir(exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"%8d" % number)
            for begin in range(8, size, len(random)):
                file.write(random[:size - begin])
        left -= size
    assert left == 0, left


RECEIVES = """
import socket, sys
listener = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("listening", flush=True)
connection = listener.accept()[0]
buffer, left = bytearray(1 << 20), int(sys.argv[2])
while left > 0:
    left -= connection.recv_into(buffer)
connection.sendall(b"!")
"""
SENDS = """
import socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection, open(sys.argv[3], "rb") as file:
    begun = time.monotonic()
    connection.sendfile(file)
    connection.recv(1)
    print(time.monotonic() - begun)
"""


class Racks:
    """Eight hosts in four racks, each host with a memory of its own for copies."""

    def __init__(self):
        self.name = f"stage{os.getpid()}"

    def __enter__(self):
        subprocess.run([*VCLUSTER, "up", "--name", self.name, "--hosts", "8", "--racks", "4", "--uplink", UPLINK],
                       check=True, stdout=subprocess.DEVNULL)
        self.on_all("sh", "-c", "mkdir -p /run/copies && mount -t tmpfs -o size=2g none /run/copies")
        return self

    def __exit__(self, *_):
        subprocess.run([*VCLUSTER, "down", "--name", self.name], check=True, stdout=subprocess.DEVNULL)

    def on(self, host, *command):
        return [*VCLUSTER, "exec", "--name", self.name, host, *command]

    def on_all(self, *command):
        return output_of([*VCLUSTER, "run-all", "--name", self.name, *command])

    def uplinks(self):
        """Bytes that have left through the ends of each uplink: up0 out of rack 0, down0 into it."""
        links = json.loads(output_of(self.on("switches", "ip", "-s", "-j", "link")))
        return {link["ifname"]: link["stats64"]["tx"]["bytes"] for link in links
                if re.fullmatch(r"(up|down)\d+", link["ifname"])}

    def copy_once(self, file):
        """Seconds that a plain copy takes from a host to one of another rack."""
        size = os.path.getsize(file)
        with subprocess.Popen(self.on("n1", python(), "-c", RECEIVES, str(PORT), str(size)),
                              stdout=subprocess.PIPE) as receiver:
            receiver.stdout.readline()
            return float(output_of(self.on("n0", python(), "-c", SENDS, "n1", str(PORT), file)))

    def stage(self, environment, folder):
        """Seconds until the last host had its copy, and what the uplinks carried."""
        places = pathlib.Path(folder, "places")
        places.write_text(output_of([*VCLUSTER, "topology", "--name", self.name]))
        self.on_all("sh", "-c", "rm -rf /run/copies/*")
        report = pathlib.Path(folder, "report.json")
        before = self.uplinks()
        toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
        self.on_all(toprun, "--nnodes", "8", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"n0:{PORT}", "--topology",
                    str(places), "--stage", environment, "--stage-to", "/run/copies", "--report", str(report),
                    "--no-python", "true")
        staged = json.loads(report.read_text())["attempts"][0]["slowest"]["stage"]
        assert staged and staged["counted"] == 7, staged
        return staged["ms"] / 1000, {link: sent - before[link] for link, sent in self.uplinks().items()}


def stage_figures(rounds, results):
    if os.geteuid() != 0:
        return
    with tempfile.TemporaryDirectory() as folder, Racks() as racks:
        environment = os.path.join(folder, "environment")
        os.mkdir(environment)
        make_environment(environment)
        one_file = os.path.join(folder, "one")
        with open(one_file, "wb") as file:
            file.truncate(STAGED_BYTES)
        most_carried = []

        def stage():
            seconds, carried = racks.stage(environment, folder)
            most_carried.append(max(carried.values()) / STAGED_BYTES)
            return seconds

        cases = {"one plain copy": lambda: racks.copy_once(one_file), "toprun --stage": stage}
        show(f"An environment of 1 GiB to 8 hosts in 4 racks behind uplinks of {UPLINK}", "s", "stage",
             in_turns(min(rounds, 3), cases), "one plain copy", results)
        carried = statistics.median(most_carried)
        print(f"  the uplink that carried most carried it {carried:.2f} times in one direction\n")
        results["stage carried"] = {"values": most_carried, "unit": "x"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", choices=["start", "prefetch", "stage"], help="these figures alone")
    args = parser.parse_args()
    results = {}
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {RANKS} ranks, Gloo\n")
    with tempfile.TemporaryDirectory() as folder:
        scripts = {}
        for name, text in (("starts", STARTS), ("restarts", RESTARTS), ("idles", IDLES), ("waits", WAITS)):
            scripts[name] = f"{folder}/{name}.py"
            pathlib.Path(scripts[name]).write_text(text)
        if args.only in (None, "start"):
            starting(args.rounds, scripts, results)
        if args.only in (None, "prefetch"):
            prefetching(args.rounds, folder, scripts, results)
    if args.only in (None, "stage"):
        stage_figures(args.rounds, results)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
