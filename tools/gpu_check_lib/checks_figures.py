"""Checks of figures: `bench` beside PyTorch's own all_reduce, and what `top` shows of GPUs beside nvidia-smi."""

import contextlib
import http.client
import json
import re
import socket

from . import machine
from .findings import CANNOT_TELL, DIFFERS, OK
from .scene import OVER_SOCKETS, RANKS, NotHere, free_port, rows, shown

START_S = 60
SIZES = [1 << 20, 1 << 24, 1 << 26]
FACTOR = 1.5      # two programs that measure the same over loopback
MIB = 1 << 20
MEMORY_MIB, BUSY_PERCENT = 64, 30  # what may lie between two questions
LOAD_S = 40       # GPUs are asked every ten seconds at most


def pair(scene, words, *tail, **variables):
    """Two agents of a rank each, which are two hosts to NCCL; what the root printed."""
    port = str(free_port())
    runs = [scene.start(scene.toprun, *words, "--nnodes", "2", "--nproc-per-node", "1", "--node-rank", node,
                        "--master-addr", "127.0.0.1", "--master-port", port, *tail,
                        env={**OVER_SOCKETS, "NCCL_HOSTID": f"host-{node}", **variables}) for node in ("0", "1")]
    done = [run.wait(min(START_S, scene.left())) for run in runs]
    return done[0]


def bench_one(scene):
    """bench with one rank: results are right."""
    words = [scene.toprun, "bench", "all_reduce", "--backend", "nccl", "--nproc-per-node", "1", "-b", "1M", "-e", "64M",
             "-f", "4", "--format", "json"]
    return benched(scene, scene.run(*words, limit=START_S), words, 1)


def bench_two(scene):
    """bench with two ranks on one GPU, two hosts to NCCL, over sockets: results are right."""
    words = ["bench", "all_reduce", "--backend", "nccl", "-b", "1M", "-e", "64M", "-f", "4", "--format", "json"]
    return benched(scene, pair(scene, words), [scene.toprun, *words], 2)


def benched(scene, done, words, ranks):
    try:
        report = json.loads(done.out)
    except ValueError:
        if not scene.on_gpu:
            raise NotHere(f"no GPU and no stand-in for its libraries: {done.err.strip()}") from None
        return DIFFERS, "JSON", done.text, shown(words)
    good = (done.code == 0 and report["out_of_bounds"]["count"] in (0, "0")
            and {row["ranks"] for row in report["results"]} == {ranks})
    seen = "\n".join(f"{row['size']} bytes: {row['out_of_place']['time']} us, busbw {row['out_of_place']['bus_bw']}"
                     for row in report["results"])
    return (OK if good else DIFFERS), "exit code 0, no wrong element", f"{seen}\n{done.err}", shown(words)


def beside_torch(scene):
    """The same all_reduce by `bench` and by PyTorch, two ranks."""
    scene.needs_torch()
    backend = "nccl" if scene.on_gpu else "gloo"
    ours, words = {}, None
    for size in SIZES:
        words = ["bench", "all_reduce", "--backend", backend, "-b", size, "-e", size, "--format", "json"]
        done = pair(scene, words)
        try:
            ours[size] = json.loads(done.out)["results"][0]["out_of_place"]["time"] / 1_000
        except (ValueError, LookupError, TypeError):
            raise NotHere(f"bench --backend {backend} gave no figure: {done.err.strip()}") from None
    done = pair(scene, [], RANKS, "times", scene.folder(), GPU_CHECK_SIZES=",".join(map(str, SIZES)))
    theirs = {int(size): ms for row in rows(done.out) for size, ms in row.get("ms", {}).items()}
    seen = "\n".join(f"{size} bytes: bench {ours[size]:.3f} ms, torch {theirs.get(size, float('nan')):.3f} ms"
                     for size in SIZES)
    far = [size for size in SIZES if size not in theirs or not 1 / FACTOR < ours[size] / theirs[size] < FACTOR]
    verdict = OK if not far else DIFFERS if scene.on_gpu else CANNOT_TELL
    return verdict, f"within {FACTOR} × of each other", f"{seen}\n{done.err}", shown([scene.toprun, *words])


def figures(scene):
    """GPU figures in top and for Prometheus beside nvidia-smi's own."""
    scene.needs_torch()
    folder = scene.folder()
    report = folder / "report.json"
    words, env = scene.job("works", "--report", report, ranks=1, folder=folder)
    run, looks = scene.start(*words, env=env), None
    try:
        scene.until((folder / "ready0").exists, START_S, "the rank runs")
        looks = scene.start(scene.toprun, "top", "--json", report)
        shows = scene.until(lambda: figures_in(looks.text()), LOAD_S, "top shows a figure of the GPU")
        samples = metrics(scene)
        asked, why = machine.answer(["nvidia-smi", "--query-gpu=utilization.gpu,memory.used",
                                     "--format=csv,noheader,nounits"], env=scene.environment)
    finally:
        (folder / "end").touch()
        done = scene.finish(run)
        if looks:
            scene.end(looks)
    if not asked:
        raise NotHere(f"nvidia-smi: {why.strip()}")
    busy, memory = (int(word) for word in asked.split("\n")[0].split(", "))
    seen = (f"top: {shows[0]} %, {shows[1]} MiB; nvidia-smi: {busy} %, {memory} MiB; /metrics: {samples}; "
            f"exit code {done.code}")
    good = (abs(shows[1] - memory) <= MEMORY_MIB and abs(shows[0] - busy) <= BUSY_PERCENT
            and abs(samples.get("memory_bytes", 0) / MIB - memory) <= MEMORY_MIB)
    return (OK if good else DIFFERS), "the same memory, about the same load, and the same in /metrics", seen, shown(words, env)


class ToJob(http.client.HTTPConnection):
    """Over the job's own socket."""

    def __init__(self, path):
        super().__init__("job", timeout=10)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def metrics(scene):
    """The GPU samples that Prometheus would read."""
    path = next((scene.root / "toprun").iterdir())
    with contextlib.closing(ToJob(path)) as job:
        job.request("GET", "/metrics")
        text = job.getresponse().read().decode()
    return {name: float(value) for name, value in
            re.findall(r'(?m)^toprun_rank_gpu_(\w+)\{rank="0"[^}]*\} (\S+)$', text)}


def figures_in(text):
    for row in reversed(rows(text)):
        ranks = (row.get("figures") or {}).get("ranks") or {}
        if ranks.get("gpu") and ranks["gpu"][0] is not None:
            return ranks["gpu"][0], ranks["gpu_memory"][0]
    return None
