"""The kill matrix's third part: one wish to end that is delivered more than once, and a user who asks again.

Every way by which a signal comes twice × SIGTERM, SIGINT, SIGHUP × a node or both × a fixed and an elastic job
× how far apart the two are. Nearer than IMPATIENT_S they are one wish: every rank that is told has its whole
grace, in which it saves. Later they are impatience: the ranks that were asked twice are killed at once.
"""

import dataclasses
import itertools
import os
import random
import signal
import time

import kill_matrix
import kill_scene
import support
from kill_matrix import DONE, LAST_CALL_S, SLACK_S

SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
# The processes that get the first and those that get the second, of each node that is struck.
WAYS = {
    "keeper, agent": (("keeper",), ("agent",)),
    "agent, keeper": (("agent",), ("keeper",)),
    "keeper twice": (("keeper",), ("keeper",)),
    "agent twice": (("agent",), ("agent",)),
    "both twice": (("keeper", "agent"), ("keeper", "agent")),
    "all processes": (("keeper", "agent", "ranks"), ()),
}
NODES = ((0,), (1,), (0, 1))
IMPATIENT_S = 1.0      # base/process/impatience.h
LATEST_BURST_S = 0.5
A_USER_S = (1.2, 2.0)
SAVE_S = 0.5           # what a rank takes to save
GRACE_S = 300          # whoever waits for it is seen to do so

# Saves in its grace, or will not end where the file `stay` is.
WORKER = """\
me=$TOPRUN_ATTEMPT.$RANK
save() {
  trap "" TERM INT HUP
  >"$ROOT/told.$me"
  while [ -e "$ROOT/stay" ]; do sleep 0.05; done
  sleep $SAVE; >"$ROOT/saved.$me"; exit 0
}
trap save TERM INT HUP
echo $$ $TOPRUN_NODE_NAME >"$ROOT/worker.$me"
while [ ! -e "$ROOT/end" ]; do sleep 0.05; done
"""


@dataclasses.dataclass(frozen=True)
class Double:
    way: str
    number: str
    nodes: tuple
    elastic: bool
    delay: float
    seed: int

    @property
    def impatient(self):
        return self.delay >= IMPATIENT_S

    @property
    def name(self):
        size = "elastic" if self.elastic else "fixed"
        nodes = " and ".join(f"n{node}" for node in self.nodes)
        return f"{self.way}, {self.number}, {size}, on {nodes}, {self.delay:.2f} s apart"

    @property
    def leaves(self):
        """The job goes on without n1, which alone is told."""
        return self.elastic and self.nodes == (1,)


def all_doubles(seed):
    """200 of them: all combinations are more, and each seed leaves out others."""
    doubles = []
    for way, number, nodes, elastic in itertools.product(WAYS, SIGNALS, NODES, (False, True)):
        chance = random.Random(f"{seed} {way} {number} {nodes} {elastic}")
        delays = [0, chance.uniform(0, LATEST_BURST_S)]
        # By one way a repeat is impatience; by another it may be a copy that was held up.
        if way in ("keeper twice", "agent twice", "both twice"):
            delays.append(chance.uniform(*A_USER_S))
        doubles += [Double(way, number, nodes, elastic, delay, seed) for delay in delays
                    if WAYS[way][1] or delay == 0]
    random.Random(seed).shuffle(doubles)
    return doubles[:200]


def some_doubles(seed, count):
    return all_doubles(seed)[:count]


class Scene(kill_scene.Scene):
    """One of them, played once."""

    def __init__(self, hosts, double):
        plain = kill_matrix.Case("keeper", "running", "SIGTERM", double.elastic, double.nodes[0], double.seed)
        super().__init__(hosts, plain)
        self.double = double
        self.apart = 0.0  # as it was on a busy machine

    def play(self):
        return dataclasses.replace(super().play(), case=self.double)

    def running(self):
        self.start(0)
        self.start(1)
        self.until(lambda: len(self.workers(0)) == 4, "four workers run")
        if self.double.impatient:
            (self.root / "stay").touch()
        self.ranks = {rank: (pid, int(node[1:])) for rank, (pid, node) in self.workers(0).items()}
        self.strike()

    def killed(self):
        """The ranks that are asked twice."""
        return {rank for rank, (_, node) in self.ranks.items()
                if self.double.impatient and (not self.double.leaves or node in self.double.nodes)}

    def environment(self):
        return {"ROOT": str(self.root), "OMP_NUM_THREADS": "1", "SAVE": str(SAVE_S),
                "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(GRACE_S)}

    def script(self):
        return WORKER

    def strike(self):
        first, second = WAYS[self.double.way]
        self.struck_at = time.monotonic()
        self.signal_all(first)
        if self.double.impatient:
            self.until(lambda: all((self.root / f"told.0.{rank}").exists() for rank in self.killed()), "they are told")
            self.until(lambda: time.monotonic() - self.struck_at >= self.double.delay, "the user waits")
        else:
            time.sleep(self.double.delay)
        self.signal_all(second)
        self.apart = time.monotonic() - self.struck_at

    def signal_all(self, kinds):
        for node in self.double.nodes:
            for pid in [pid for kind in kinds for pid in self.processes_of(kind, node)]:
                try:
                    os.kill(pid, getattr(signal, self.double.number))
                except ProcessLookupError:
                    pass  # it has ended already

    def processes_of(self, kind, node):
        run = self.runs[node]
        if kind == "keeper":
            return [run.process.pid]
        if kind == "agent":
            return support.children(run.process.pid) if run.process.poll() is None else []
        return [pid for pid, host in self.workers(0).values() if host == f"n{node}"]

    def see_how_it_goes_on(self):
        if self.double.impatient:
            pids = [self.ranks[rank][0] for rank in self.killed()]
            self.until(lambda: not any(map(support.is_running, pids)), "who is asked twice is killed", 2 * SLACK_S)
            (self.root / "stay").unlink()
        if self.double.leaves:
            self.until(lambda: len(self.workers(1)) == 2, "n0 goes on alone", LAST_CALL_S + SLACK_S + SAVE_S)
            (self.root / "end").touch()
        self.end_limit = time.monotonic() + LAST_CALL_S + SLACK_S + SAVE_S

    def check_outcome(self):
        codes = tuple(self.runs[node].process.poll() for node in (0, 1))
        number = 128 + getattr(signal, self.double.number)
        saved = {rank for rank in self.ranks if (self.root / f"saved.0.{rank}").exists()}
        if self.apart >= IMPATIENT_S and not self.double.impatient:
            return  # this machine was too busy to tell
        killed = self.killed()
        if lost := self.ranks.keys() - killed - saved:
            raise kill_scene.Deviation(f"ranks {sorted(lost)} had no time to save; exit codes {codes}, {self.causes()}")
        if wrong := killed & saved:
            raise kill_scene.Deviation(f"ranks {sorted(wrong)} were not killed; exit codes {codes}")
        right = [{number if killed and not self.double.leaves else 0}] * 2
        if self.double.elastic and 1 in self.double.nodes:
            right[1] = {number, 0}  # it may leave before the root is told
        if codes[0] not in right[0] or codes[1] not in right[1]:
            raise kill_scene.Deviation(f"exit codes {codes}, not {right}; causes {self.causes()}")
        if self.double.leaves and (self.causes() or ("",))[-1] != DONE:
            raise kill_scene.Deviation(f"causes {self.causes()}, the last of which should be none")


def play_all(doubles, at_once, tell=lambda result: None):
    return kill_scene.play_all(doubles, at_once, tell, Scene)
