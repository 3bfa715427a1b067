"""Pictures of jobs (toprun.live/1) that no machine here could run, and a player that serves them."""

import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import support

RANKS_PER_NODE = 8
NODES_PER_RACK = 16
RACKS_PER_ROW = 32


def player_program():
    path = pathlib.Path(support.TOPRUN).parent / "tests/web_player"
    if not os.access(path, os.X_OK):
        raise AssertionError(f"{path} is not built: cmake --build {path.parent.parent} --target web_player")
    return str(path)

MOST_RANKS_WITH_LINES = 4_096


class Picture:
    """A job of so many nodes with eight ranks each, whose figures follow a seed."""

    def __init__(self, nodes, name="train", seed=1):
        self.nodes, self.ranks = nodes, nodes * RANKS_PER_NODE
        self.dice = random.Random(seed)
        self.state = ["r"] * self.ranks
        self.tick = 0
        self.lines = None  # the last ones by rank, or as a training prints them
        self.job = {
            "name": name, "id": "4711", "root": self.name(0), "pid": 77, "stage": "running",
            "started": "2026-11-25T08:00:00.000Z", "now": "2026-11-25T08:12:34.000Z",
            "nnodes": [nodes, nodes], "attempt": 0, "restarts": 0, "max_restarts": 3, "world": self.ranks,
            "joined": nodes, "missing": [], "missing_count": 0, "phases": self.phases(8), "slowest": {},
            "awaited": None, "hang": None, "exit_code": None, "interval_s": 1.0,
            "attempts": [{"attempt": 0, "started": "2026-11-25T08:00:00.000Z", "ended": None, "cause": None}],
            "messages": [{"time": "2026-11-25T08:00:01.000Z", "text": f"{nodes} nodes, {self.ranks} ranks"}]}

    @staticmethod
    def phases(reached):
        times = (("join", 900), ("order", 960), ("stage", None), ("spawn", 1400), ("first_connect", 4100),
                 ("import", 9700), ("last_connect", 9700), ("first_collective", 11300))
        return {name: ms if i < reached else None for i, (name, ms) in enumerate(times)}

    @staticmethod
    def name(i):
        return f"node{i:05}"

    @staticmethod
    def location(i):
        rack = i // NODES_PER_RACK
        return f"/hall/row{rack // RACKS_PER_ROW}/rack{rack:03}/{Picture.name(i)}"

    def node_part(self):
        return {"name": [self.name(i) for i in range(self.nodes)],
                "location": [self.location(i) for i in range(self.nodes)],
                "first_rank": [i * RANKS_PER_NODE for i in range(self.nodes)],
                "nproc": [RANKS_PER_NODE] * self.nodes,
                "logs": [f"/scratch/logs/4711/{self.name(i)}" for i in range(self.nodes)]}

    def last_lines(self):
        """Of many ranks the newest one of each node, as agents tell it."""
        if self.lines is not None:
            return [self.lines.get(i) for i in range(self.ranks)]
        speaks = RANKS_PER_NODE if self.ranks > MOST_RANKS_WITH_LINES else 1
        return [None if i % speaks else f"step {self.tick * 10} loss {2.5 / (self.tick + 1):.4f} lr 0.0003 rank {i}"
                for i in range(self.ranks)]

    def figures(self):
        self.tick += 1
        wave = [0.5 + 0.5 * math.sin(self.tick / 3 + i / NODES_PER_RACK) for i in range(self.nodes)]
        dice = self.dice
        some = [dice.random() for _ in range(997)]  # 100,000 throws a second would be the test's own cost
        at = lambda i: some[i % len(some)]
        live = [state == "r" for state in self.state]
        return {"at": "2026-11-25T08:12:34.000Z",
                "nodes": {"age": [round(at(i), 1) for i in range(self.nodes)],
                          "cpu": [round(12 * wave[i] + 2 * at(i), 1) for i in range(self.nodes)],
                          "cpus": [16] * self.nodes,
                          "memory": [int(200_000 + 90_000 * at(i)) for i in range(self.nodes)],
                          "memory_total": [524_288] * self.nodes,
                          "received": [round(9_000 * wave[i], 1) for i in range(self.nodes)],
                          "sent": [round(9_000 * wave[i] * at(i), 1) for i in range(self.nodes)]},
                "ranks": {"state": "".join(self.state),
                          "cpu": [round(1.5 * at(i), 2) if on else None for i, on in enumerate(live)],
                          "memory": [int(8_000 + 3_000 * at(i)) if on else None for i, on in enumerate(live)],
                          "line": self.last_lines(),
                          "output_age": [round(30 * at(i) ** 3, 1) for i in range(self.ranks)],
                          "gpu": [int(60 + 40 * wave[i // RANKS_PER_NODE] * at(i)) if on else None
                                  for i, on in enumerate(live)],
                          "gpu_memory": [int(60_000 + 15_000 * at(i)) if on else None for i, on in enumerate(live)]}}

    def fail(self, rank, message="RuntimeError: CUDA error: an illegal memory access was encountered"):
        """One rank fails, all others are stopped."""
        self.state = ["k"] * self.ranks
        self.state[rank] = "f"
        node = self.name(rank // RANKS_PER_NODE)
        cause = {"kind": "exit", "what": f"rank {rank} on {node} ended with exit code 1", "rank": rank,
                 "local_rank": rank % RANKS_PER_NODE, "node": node, "exit_code": 1, "signal": None, "message": message,
                 "error_file": None, "next": "see train.py, line 88, in step",
                 "last_output": ["[W1125 08:12:30.104 socket.cpp:207] [c10d] a note of PyTorch", "step 1200 loss 2.31",
                                 "[rank7]: [I1125 08:12:30.104 a.cpp:1] another", "Traceback (most recent call last):", message],
                 "kernel_evidence": None}
        self.job["attempts"][-1].update(ended="2026-11-25T08:12:35.000Z", cause=cause)
        self.job["stage"] = "pausing"

    def hang(self, ranks):
        self.state = ["w"] * self.ranks
        for rank in ranks:
            self.state[rank] = "h"
        edges = [-1, *sorted(ranks), self.ranks]
        others = ",".join(f"{a + 1}-{b - 1}" for a, b in zip(edges, edges[1:]) if b - a > 1)
        self.job["hangs"] = True
        self.job["hang"] = {
            "noticed": "2026-11-25T08:12:30.000Z", "after_ms": 30_000,
            "what": f"rank {ranks[0]} on {self.name(ranks[0] // RANKS_PER_NODE)} did not come to all_reduce",
            "suspects": [{"rank": rank, "node": self.name(rank // RANKS_PER_NODE)} for rank in ranks],
            "groups": [{"ranks": others, "count": self.ranks - len(ranks), "doing": "communicates",
                        "text": "wait in all_reduce, train.py:88", "place": "in all_reduce, train.py:88"},
                       {"ranks": ",".join(map(str, ranks)), "count": len(ranks), "doing": "sleeps", "place": "data.py:41 in recv"}],
            "unseen": None}

    def end(self, code):
        self.job.update(stage="over", exit_code=code)


class Player:
    """A web_player: the real server, whose job is what show() says."""

    def __init__(self, *words):
        self.process = subprocess.Popen([player_program(), *map(str, words)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.address, _, self.token = self.url.partition("/#token=")

    @property
    def port(self):
        return int(self.address.rpartition(":")[2])

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def show(self, **parts):
        for name, value in parts.items():
            self.send(f"{name} {json.dumps(value, separators=(',', ':'))}")

    def show_all(self, picture):
        self.show(job=picture.job, nodes=picture.node_part(), figures=picture.figures())

    def close(self):
        self.process.kill()
        self.process.communicate()


def take_the_pictures_of_the_guide(folder):
    """folder/web-hang.png and web-figure.png, as docs/guides/web.md shows them: python3 tests/web_pictures.py docs/guides,
    with a Python that has Pillow (256 colours make the files smaller)."""
    import browser  # only here: the tests of the server need none of these
    import web_cases
    from PIL import Image
    figure = "$('figure').value = 'node_cpu'; $('figure').dispatchEvent(new Event('change'))"
    for name, nodes, hanging, script in (("web-hang", 512, [1242], "choose(1242)"), ("web-figure", 12_500, [], figure)):
        picture = Picture(nodes)
        if hanging:
            picture.hang(hanging)
        player = Player()
        folder_of_chromium = tempfile.mkdtemp(prefix="toprun-test-")
        chromium = browser.Browser(folder_of_chromium)
        try:
            player.show_all(picture)
            page = chromium.page(width=1280, height=760)
            page.open(player.url)
            page.until(web_cases.SHOWN + " && $('link').textContent === 'live'")
            page.run(script)
            page.until("!picture.isAsked")
            path = folder / f"{name}.png"
            page.screenshot(path, whole=False)
        finally:
            chromium.close()
            player.close()
            shutil.rmtree(folder_of_chromium, ignore_errors=True)
        Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    take_the_pictures_of_the_guide(pathlib.Path(sys.argv[1]))
