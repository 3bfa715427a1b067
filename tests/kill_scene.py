"""Plays cases of the kill matrix (kill_matrix.py) on a virtual cluster of two hosts."""

import contextlib
import dataclasses
import json
import os
import pathlib
import queue
import random
import shutil
import signal
import tempfile
import threading
import time

import cluster
import kill_matrix
import support
from kill_matrix import FAREWELL_S, GRACE_S, JOIN_S, LAST_CALL_S, OBEY_S, SILENCE_S, SLACK_S

from vcluster_lib import namespaces, network, plan

PORT = "29513"
CONF = (f"keep_alive_interval=1,keep_alive_max_attempt={SILENCE_S},join_timeout={JOIN_S},"
        f"last_call_timeout={LAST_CALL_S}")
STRANGER = "02:00:00:00:00:99"  # a hardware address that nobody has: what is sent to it is lost
BLIP_S = 1.0             # less than the limit; or how much more than it, a beat being 0.5 s
UNDISTURBED_S = 1.0      # how long a job that is to go on must go on before it is told to end
SET_UP_S = 20            # until a phase is reached
END_PHASE_S = 1.0        # how long the last node's workers sleep

# A worker: a grandchild in a session of its own whose parent is gone, then files that say what to do.
WORKER = """\
me=$TOPRUN_ATTEMPT.$RANK
(setsid sh -c "$GRANDCHILD" sh "$ROOT/grandchild.$me" &)
if [ "$SLOW" ] && [ $TOPRUN_ATTEMPT = 0 ]; then
  trap '>"$ROOT/told.'$me'"; sleep $SLOW; exit 0' TERM
fi
echo $$ $TOPRUN_NODE_NAME >"$ROOT/worker.$me"
while [ ! -e "$ROOT/end" ] && [ ! -e "$ROOT/end.$TOPRUN_NODE_NAME" ]; do
  [ ! -e "$ROOT/fail.$me" ] || exit 7
  sleep 0.05
done
"""
OBEDIENT = 'echo $$ >"$1"; exec sleep 1000'
STUBBORN = 'trap "" TERM; echo $$ >"$1"; while :; do sleep 0.1; done'


@dataclasses.dataclass
class Result:
    case: kill_matrix.Case
    seconds: float  # from the strike to the last process's end, or until the job went on without it
    problem: str    # empty: as expected
    log: str


class Deviation(Exception):
    pass


class Scene:
    """One case, played once."""

    def __init__(self, hosts, case):
        self.hosts = hosts
        self.case = case
        self.expected = kill_matrix.expected(case)
        self.random = random.Random(f"{case.seed} {case.name}")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="toprun-kill-"))
        self.runs = {}
        self.back = None         # plugs the link in again
        self.pid = None          # of the victim
        self.struck_at = self.seconds = self.end_limit = 0.0

    def play(self):
        problem = ""
        try:
            getattr(self, self.case.phase)()
            self.see_how_it_goes_on()
            self.await_end()
            self.check_outcome()
        except (Deviation, AssertionError) as what:
            problem = str(what)
        log = self.clear()
        shutil.rmtree(self.root, ignore_errors=True)
        return Result(self.case, self.seconds, problem, log)

    # The phases: each leads there and strikes.

    def joining(self):
        if self.case.joined:
            self.start(0)
            self.start(1)
            self.until(self.n1_has_joined, "n1 joins")
            self.pause(0.1, 0.4)
            self.strike()
            if self.case.effect == "nothing" and not self.case.elastic:
                self.start(2)
            return
        self.start(self.case.node)
        self.runs[self.case.node].agent()
        self.pause(0.1, 0.5)
        self.strike()
        self.pause(0.2, 0.4)
        self.start(1 - self.case.node)

    def spawning(self):
        self.start(0)
        self.start(1)
        run = self.runs[self.case.node]
        agent = run.agent()
        end = time.monotonic() + SET_UP_S
        while not self.spawned(agent):  # as fast as can be: the next thing is the exec
            if time.monotonic() > end:
                raise Deviation("no worker was started")
        self.strike()

    def spawned(self, agent):
        if self.case.victim == "grandchild":
            return self.pids("grandchild", node=self.case.node)
        with contextlib.suppress(FileNotFoundError):
            return support.children(agent)

    def running(self):
        self.start_and_run()
        self.pause(0, 0.3)
        self.strike()

    def restarting(self):
        self.start_and_run()
        workers = self.workers(0)
        candidates = [rank for rank, (_, node) in workers.items()
                      if self.case.victim != "worker" or node != f"n{self.case.node}"]
        failing = self.random.choice(candidates)
        (self.root / f"fail.0.{failing}").touch()
        self.until(lambda: len(list(self.root.glob("told.0.*"))) == len(workers) - 1,
                   "all other workers are told to end")
        self.pause(0, OBEY_S / 3)
        self.strike()

    def ending(self):
        self.start_and_run()
        strikes_a_worker = self.case.victim == "worker" and self.case.strike != "link down"
        last = self.case.node if strikes_a_worker else 1 - self.case.node
        done = [pid for pid, node in self.workers(0).values() if node != f"n{last}"]
        (self.root / f"end.n{1 - last}").touch()
        self.until(lambda: not any(map(support.is_running, done)), "one node's workers end")
        self.pause(0, 0.2)
        self.strike()
        time.sleep(END_PHASE_S)
        (self.root / f"end.n{last}").touch()

    def start_and_run(self):
        self.start(0)
        self.start(1)
        self.until(lambda: len(self.workers(0)) == 4 and len(self.pids("grandchild")) == 4,
                   "four workers run")

    # Their parts.

    def start(self, node):
        nodes = 3 if self.case.joined else 2
        restarting = self.case.phase == "restarting"
        words = [support.binary(), "--nnodes", f"1:{nodes}" if self.case.elastic else str(nodes),
                 "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"n0:{PORT}",
                 "--rdzv-conf", CONF, *(["--max-restarts", "1"] if restarting else []),
                 *(["--report", str(self.root / "report.json")] if node == 0 else []),
                 "--no-python", "sh", "-c", self.script()]
        self.runs[node] = support.Run(self.hosts.on(f"n{min(node, 1)}", *words), env=self.environment())

    def script(self):
        return WORKER

    def environment(self):
        restarting = self.case.phase == "restarting"
        stubborn = self.case.phase == "ending" and self.case.victim == "grandchild"
        return {"ROOT": str(self.root), "OMP_NUM_THREADS": "1",
                "GRANDCHILD": STUBBORN if stubborn else OBEDIENT, "SLOW": str(OBEY_S) if restarting else "",
                "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(GRACE_S)}

    def until(self, condition, what, limit=SET_UP_S):
        end = time.monotonic() + limit
        while not (value := condition()):
            if time.monotonic() > end:
                raise Deviation(f"not within {limit} s: {what}")
            time.sleep(0.01)
        return value

    def pause(self, least, most):
        time.sleep(self.random.uniform(least, most))

    def pids(self, kind, node=None):
        """{rank: pid} of attempt 0."""
        found = {}
        for path in self.root.glob(f"{kind}.0.*"):
            rank = int(path.suffix[1:])
            if (words := path.read_text().split()) and node in (None, rank // 2):
                found[rank] = int(words[0])
        return found

    def workers(self, attempt):
        """{rank: (pid, node)}."""
        found = {}
        for path in self.root.glob(f"worker.{attempt}.*"):
            if len(words := path.read_text().split()) == 2:
                found[int(path.suffix[1:])] = (int(words[0]), words[1])
        return found

    def n1_has_joined(self):
        return support.connections(self.runs[1].agent(), PORT, "remote") > 0

    # The strike, and taking it back.

    def strike(self):
        self.struck_at = time.monotonic()
        if self.case.strike == "link down":
            return self.strike_link(self.case)
        self.pid = self.victim(self.case)
        with contextlib.suppress(ProcessLookupError):  # stopped by the restart already
            os.kill(self.pid, getattr(signal, self.case.strike))

    def victim(self, case):
        run = self.runs[case.node]
        if case.victim == "keeper":
            return run.process.pid
        if case.victim == "agent":
            return run.agent()
        if case.phase == "spawning" and case.victim == "worker":
            return support.children(run.agent())[0]
        return self.random.choice(sorted(self.pids(case.victim, case.node).values()))

    def strike_link(self, case):
        node = f"n{case.node}"
        if case.effect == "half-open":
            return self.hosts.lose_packets(node, STRANGER)
        self.hosts.unplug(node)
        back_after = {"nothing": BLIP_S, "cut and back": SILENCE_S + BLIP_S}.get(case.effect)
        if back_after:
            self.back = threading.Timer(back_after, self.hosts.plug, [node])
            self.back.start()

    # What comes of it.

    def see_how_it_goes_on(self):
        case, expected = self.case, self.expected
        self.end_limit = self.struck_at + expected.within
        if case.effect == "worker stopped" and case.phase != "restarting":
            self.stay_undisturbed()
            if case.elastic:
                self.struck_at = time.monotonic()
                self.end_limit = self.struck_at + expected.within
                return self.runs[0].signal(signal.SIGTERM)
            os.kill(self.pid, signal.SIGCONT)
        if expected.goes_on is None:
            return
        self.until(lambda: self.runs_as(expected.goes_on) or self.all_ended(),
                   f"the workers of attempt {expected.goes_on} run",
                   self.end_limit - time.monotonic())
        self.seconds = time.monotonic() - self.struck_at
        if case.effect == "nothing" and case.phase != "ending":
            self.stay_undisturbed()
        (self.root / "end").touch()
        self.end_limit = max(self.end_limit, time.monotonic() + SLACK_S + FAREWELL_S)

    def runs_as(self, first_attempt):
        """Whether the workers of at least one node run in this attempt or a later one."""
        return any(len(self.workers(attempt)) >= 2
                   for attempt in range(first_attempt, first_attempt + 3))

    def stay_undisturbed(self):
        time.sleep(UNDISTURBED_S)
        if ended := self.ended():
            raise Deviation(f"the launchers of {ended} ended although nothing should have happened")

    def ended(self):
        return [f"n{node}" for node, run in self.runs.items() if run.process.poll() is not None]

    def all_ended(self):
        return len(self.ended()) == len(self.runs)

    def await_end(self):
        """Until everything of the case is gone from both hosts."""
        if self.case.victim == "keeper" and self.case.strike == "SIGSTOP":
            others = len(self.runs) - 1
            self.until(lambda: len(self.ended()) == others, "the others end without this keeper",
                       self.end_limit - time.monotonic())
            os.kill(self.pid, signal.SIGCONT)
        while left := self.left():
            if time.monotonic() > self.end_limit:
                raise Deviation(f"still there {time.monotonic() - self.struck_at:.1f} s after the "
                                f"strike: {left}")
            time.sleep(0.01)
        if self.expected.goes_on is None:
            self.seconds = time.monotonic() - self.struck_at

    def left(self):
        """{host: command lines} of what the case still has."""
        return {f"n{node}": sorted(line[:60] or "?" for line in found.values())
                for node, run in self.runs.items()
                if (found := run.processes()) or run.process.poll() is None}

    def check_outcome(self):
        codes = tuple(self.runs[node].process.poll() for node in (0, 1))
        causes = self.causes()
        for outcome in self.expected.outcomes:
            if outcome.causes in (None, causes) and codes[0] in outcome.codes[0] and (
                    codes[1] in outcome.codes[1]):
                return
        wanted = " or ".join(f"{one.codes} {one.causes}" for one in self.expected.outcomes)
        raise Deviation(f"exit codes {codes}, causes {causes}; expected {wanted}")

    def causes(self):
        try:
            attempts = json.loads((self.root / "report.json").read_text())["attempts"]
        except (OSError, ValueError):
            return None
        return tuple(in_words(attempt["cause"]) for attempt in attempts)

    def struck_nodes(self):
        return {self.case.node}

    def clear(self):
        """Undoes the strike and ends what is left; what the launchers said."""
        if self.back:
            self.back.join()
        for node in self.struck_nodes():
            self.hosts.repair(f"n{node}")
        log = []
        for node, run in self.runs.items():
            while run.processes():
                run.kill_all()
                time.sleep(0.01)
            out, err = run.process.communicate()
            log.append(f"n{node}: exit code {run.process.returncode}\n" +
                       (out + err).decode(errors="replace"))
        return "".join(log)


def in_words(cause):
    if cause is None:
        return kill_matrix.DONE
    if cause["kind"] == "exit":
        return f"exit {cause['exit_code']}"
    words = [cause["kind"], cause["kind"] == "signal" and cause["signal"], cause["node"]]
    return " ".join(str(word) for word in words if word)


class Hosts(cluster.Cluster):
    """n0 and n1, with cables that can be pulled."""

    def __init__(self):
        super().__init__("--hosts", "2")

    def _act(self, action, node):
        action(self.state, self.state.plan.host(node))

    def unplug(self, node):
        self._act(network.cut, node)

    def plug(self, node):
        self._act(network.join, node)

    def lose_packets(self, node, stranger):
        """What this node sends to the other one is lost; what the other sends arrives."""
        self._neighbour("replace", node, "lladdr", stranger, "nud", "permanent")

    def repair(self, node):
        self.plug(node)
        with contextlib.suppress(Exception):
            self._neighbour("del", node)

    def _neighbour(self, verb, node, *words):
        other = self.state.plan.host("n1" if node == "n0" else "n0")
        address = plan.main_address(self.state.plan, other)
        namespaces.run(self.state, *namespaces.inside(self.state, node), "ip", "neigh", verb, address,
                       "dev", "eth0", *words)


def play_all(cases, at_once, tell=lambda result: None, scene=Scene):
    """Plays the cases on so many clusters side by side; tell(result) after each, in any order."""
    waiting = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    results, lock = [], threading.Lock()

    def work():
        hosts = Hosts()
        hosts.up()
        try:
            while True:
                result = scene(hosts, waiting.get_nowait()).play()
                with lock:
                    results.append(result)
                    tell(result)
        except queue.Empty:
            pass
        finally:
            hosts.down()

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(results) != len(cases):  # a thread has ended of what it raised, and said so
        raise AssertionError(f"{len(results)} of {len(cases)} cases were played")
    return results
