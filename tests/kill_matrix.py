"""The kill matrix: every kind of process × every phase of a job × every way to strike it, each with
what has to come of it. kill_scene.py plays a case on two virtual hosts, n0 (the root's) and n1.

What is expected comes from docs/guides/failures.md and the exit codes of docs/guides/running.md. Where these
allow two outcomes both are listed, with the reason.
"""

import dataclasses
import random

KINDS = ("keeper", "agent", "root agent", "worker", "grandchild")
PHASES = ("joining", "spawning", "running", "restarting", "ending")
STRIKES = ("SIGKILL", "SIGSTOP", "SIGTERM", "link down")

SILENCE_S = 3    # the heartbeat limit: 1 s, three times
GRACE_S = 2      # from SIGTERM to SIGKILL
JOIN_S = 4       # join_timeout
LAST_CALL_S = 2  # last_call_timeout
FENCE_S = 1      # from SIGTERM to SIGKILL on a node that is cut off
FAREWELL_S = 2   # the root's patience with agents that it told to finish
OBEY_S = 1.5     # what workers take to obey SIGTERM in the phase `restarting`
LEFTOVER_S = 2   # for what workers left behind
SLACK_S = 3      # for two busy cores, on top of any of these

EXIT = "exit 7"  # the failure that makes a restart
DONE = "-"       # an attempt that ended well

# A link has no kinds of process: what `link down` means for each. The other rows are combinations
# that do not exist: there is neither a worker nor a grandchild before the nodes have met.
REPLACED = {
    ("keeper", "link down"): "the link is down for 1 s, less than the heartbeat limit",
    ("agent", "link down"): "the link of n1 goes down for good",
    ("root agent", "link down"): "the link of n0, the root's, goes down for good",
    ("worker", "link down"): "the link comes back 1 s after the heartbeat limit",
    ("grandchild", "link down"): "packets of one node are lost, those to it arrive",
    ("worker", "joining"): "the agent of n1 has joined and waits with the root for a third node",
    ("grandchild", "joining"): "the keeper of such an agent",
}

AGENT_EFFECTS = {"SIGKILL": "agent killed", "SIGSTOP": "frozen", "SIGTERM": "told"}
KEEPER_EFFECTS = {"SIGKILL": "keeper killed", "SIGSTOP": "nothing", "SIGTERM": "told"}
LINK_EFFECTS = {"keeper": "nothing", "agent": "cut", "root agent": "cut",
                "worker": "cut and back", "grandchild": "half-open"}
EFFECTS = {
    "keeper": KEEPER_EFFECTS,
    "agent": AGENT_EFFECTS,
    "root agent": AGENT_EFFECTS,
    "worker": {"SIGKILL": "signal 9", "SIGSTOP": "worker stopped", "SIGTERM": "signal 15"},
    "grandchild": dict.fromkeys(("SIGKILL", "SIGSTOP", "SIGTERM"), "nothing"),
}
CUTS = ("cut", "cut and back", "half-open")
# Exit code of the launcher that was struck.
STRUCK = {"agent killed": {1}, "keeper killed": {-9}, "frozen": {1}, "cut": {1},
          "cut and back": {1}, "half-open": {1}, "told": {143}}


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    phase: str
    strike: str
    elastic: bool  # --nnodes 1:2 rather than 2
    node: int      # the victim's: 0 is the root's
    seed: int

    @property
    def name(self):
        size = "elastic" if self.elastic else "fixed"
        return f"{self.kind}, {self.phase}, {self.strike}, {size}, on n{self.node}"

    @property
    def joined(self):
        """Whether n1 has joined and a third node is missing, rather than n0 or n1 being alone."""
        return self.phase == "joining" and self.kind in ("worker", "grandchild")

    @property
    def victim(self):
        """The kind of process that is struck."""
        if self.joined:
            return {"worker": "agent", "grandchild": "keeper"}[self.kind]
        return "agent" if self.kind == "root agent" else self.kind

    @property
    def effect(self):
        if self.strike == "link down":
            return LINK_EFFECTS[self.kind]
        return EFFECTS[self.victim][self.strike]


@dataclasses.dataclass(frozen=True)
class Outcome:
    codes: tuple   # exit codes that are right, a set for each of n0 and n1
    causes: tuple  # "KIND [DETAIL] [NODE]" of each attempt in the root's report; None: not read
    why: str = ""  # where there is more than one outcome


@dataclasses.dataclass(frozen=True)
class Expected:
    outcomes: tuple
    within: float  # seconds from the strike to the end, or until the job goes on
    goes_on: int | None = None  # the first attempt that may be the one that does; None: the job ends


def all_cases(seed):
    """All 200: each combination with a fixed size and with MIN:MAX; where and when by the seed."""
    return [one_case(kind, phase, strike, elastic, seed)
            for kind in KINDS for phase in PHASES for strike in STRIKES
            for elastic in (False, True)]


def one_case(kind, phase, strike, elastic, seed):
    node = {"agent": 1, "root agent": 0}.get(kind)
    if phase == "joining" and kind in ("worker", "grandchild"):
        node = 1
    if node is None:
        node = random.Random(f"{seed} {kind} {phase} {strike} {elastic}").randrange(2)
    return Case(kind, phase, strike, elastic, node, seed)


def some_cases(seed, count):
    """So many of them, no kind, phase or strike left out if there are enough."""
    cases = all_cases(seed)
    random.Random(seed).shuffle(cases)
    chosen, seen = [], set()
    for case in cases:
        news = {case.kind, case.phase, case.strike, (case.kind, case.phase), case.effect}
        if not news <= seen:
            chosen.append(case)
            seen |= news
    rest = [case for case in cases if case not in chosen]
    return (chosen + rest)[:count]


def expected(case):
    effect = case.effect
    if effect in ("signal 9", "signal 15"):
        return worker_killed(case, int(effect.split()[1]))
    if effect == "worker stopped":
        return worker_stopped(case)
    return {"nothing": undisturbed, "told": told}.get(effect, loss)(case)


def undisturbed(case):
    """The job goes on as if nothing had happened, and all ends with 0."""
    if case.phase == "restarting":
        return Expected((Outcome(({0}, {0}), (EXIT, DONE)),), GRACE_S + SLACK_S, 1)
    within = SLACK_S + {"joining": LAST_CALL_S, "ending": 1 + LEFTOVER_S}.get(case.phase, 0)
    return Expected((Outcome(({0}, {0}), (DONE,)),), within, 0)


def worker_killed(case, number):
    """A failed rank, which ends the job; but a worker that was being stopped has nothing to add."""
    if case.phase == "restarting":
        return undisturbed(case)
    code = {128 + number}
    return Expected((Outcome((code, code), (f"signal {number} n{case.node}",)),), SLACK_S)


def worker_stopped(case):
    """Goes on when it is continued (the fixed job). Is killed after the grace when the job is told to
    end (the elastic one), and in a restart, where nobody continues it."""
    if case.phase == "restarting" or not case.elastic:
        return undisturbed(case)
    return Expected((Outcome(({143}, {143}), ("interrupted",)),), GRACE_S + SLACK_S)


def told(case):
    """SIGTERM to a launcher or agent ends the job; where the job can do without, the node leaves."""
    leaves = case.elastic and case.node == 1
    both = ({143}, {143})
    left = ({0}, {143})
    if case.phase == "joining" and not case.joined:
        if case.node == 0:
            return Expected((Outcome(({143}, {1}), ("interrupted",)),), JOIN_S + SLACK_S)
        return alone(case, {143})
    if not leaves and case.phase == "restarting":
        why = "the failure was first, but only the signal kept it from being restarted"
        return Expected(tuple(Outcome(({code}, {code}), causes, why)
                              for code in (143, 7)
                              for causes in ((EXIT,), ("interrupted",), (EXIT, "interrupted"))),
                        GRACE_S + SLACK_S)
    if not leaves:
        return Expected((Outcome(both, ("interrupted",)),), SLACK_S)
    within = SLACK_S + LAST_CALL_S
    went_on = Outcome(left, ("interrupted n1", DONE), "it leaves while its ranks still count")
    not_missed = Outcome(left, (DONE,), "its ranks had not begun, or had all ended with 0")
    if case.phase == "restarting":
        return Expected((Outcome(left, (EXIT, DONE)),), within + GRACE_S, 1)
    if case.phase in ("joining", "ending"):
        return Expected((went_on, not_missed), within, 0)
    return Expected((went_on,), within, 1)


def alone(case, struck):
    """n0 after n1 could not join."""
    if case.elastic:
        return Expected((Outcome(({0}, struck), (DONE,)),), JOIN_S + SLACK_S, 0)
    return Expected((Outcome(({1}, struck), ("join_timeout",)),), JOIN_S + SLACK_S)


def lost_kinds(case):
    """How the root sees the loss of n1."""
    if case.effect == "frozen":
        return ("node_lost", "agent_lost")  # the root's limit and the keeper's are the same
    if case.effect == "half-open" and case.node == 0:
        return ("node_lost", "agent_lost")  # n1 hears nothing, says so and goes
    if case.effect == "cut and back":
        return ("node_lost", "agent_lost")  # n1 gave up first and could say so when the link was back
    return ("node_lost",) if case.effect in CUTS else ("agent_lost",)


def loss(case):
    """An agent or a node is gone: at once, or within the heartbeat limit."""
    struck = STRUCK[case.effect]
    silence = SILENCE_S + FENCE_S if case.effect in (*CUTS, "frozen") else 0
    if case.node == 0 and case.effect not in CUTS:
        return loss_of_the_root(case, struck, silence)
    if case.phase == "joining":
        return loss_while_joining(case, struck)
    if case.phase == "restarting":
        return loss_while_restarting(case, struck, silence)
    if case.phase == "ending":
        return loss_while_ending(case, struck, silence)
    return loss_while_running(case, struck, silence)


def loss_of_the_root(case, struck, silence):
    """Ends the job everywhere; who writes the report is the victim itself."""
    within = SLACK_S + (JOIN_S if case.phase == "joining" else silence + GRACE_S)
    outcomes = [Outcome((struck, {1}), None)]
    if case.phase == "restarting" and case.effect == "keeper killed":
        why = "its agent lives long enough to say that a failure was first"
        outcomes.append(Outcome((struck, {7}), (EXIT,), why))
    return Expected(tuple(outcomes), within)


def loss_while_joining(case, struck):
    if not case.joined:
        return alone(case, struck)
    if case.elastic:
        why = "the last call may be over before the loss is known: then it counts as a member's"
        outcomes = [Outcome(({0}, struck), (DONE,), why),
                    *(Outcome(({0}, struck), (f"{kind} n1", DONE), why) for kind in lost_kinds(case))]
        return Expected(tuple(outcomes), SLACK_S + SILENCE_S + 2 * LAST_CALL_S, 0)
    why = "a job that is not complete may wait for another node, or end"
    return Expected((Outcome(({1}, struck), ("join_timeout",), why),
                     *(Outcome(({1}, struck), (f"{kind} n1",), why) for kind in lost_kinds(case))),
                    JOIN_S + SLACK_S)


def loss_while_running(case, struck, silence):
    within = SLACK_S + silence
    if not case.elastic:
        return Expected(tuple(Outcome(({1}, struck), (f"{kind} n1",)) for kind in lost_kinds(case)),
                        within)
    return Expected(tuple(Outcome(({0}, struck), (f"{kind} n1", DONE)) for kind in lost_kinds(case)),
                    within + LAST_CALL_S, 1)


def loss_while_restarting(case, struck, silence):
    """Losses use up no restarts: a fixed job waits for another node, an elastic one goes on."""
    last = DONE if case.elastic else "join_timeout"
    codes = ({0} if case.elastic else {1}, struck)
    outcomes = [Outcome(codes, (EXIT, last))]
    if case.effect == "half-open" and case.node == 0:
        why = "n1 could still report that its workers were gone, but not hear of the next attempt"
        outcomes += [Outcome(codes, (EXIT, f"{kind} n1", last), why) for kind in lost_kinds(case)]
    within = SLACK_S + GRACE_S + 2 * silence
    if case.elastic:
        return Expected(tuple(outcomes), within + LAST_CALL_S, 1)
    return Expected(tuple(outcomes), within + JOIN_S)


def loss_while_ending(case, struck, silence):
    """The victim's node is done, the other's workers sleep for another second. What the root has
    heard counts: if all ranks ended with 0, so did the job."""
    unheard = loss_while_running(dataclasses.replace(case, phase="running"), struck, silence)
    heard = Outcome(({0}, struck), (DONE,))
    if case.node == 0 and case.effect != "half-open":
        return unheard
    if case.node == 0:
        why = "n1's last words arrive or not: TCP sends little while nothing is acknowledged"
        heard = dataclasses.replace(heard, why=why)
        return dataclasses.replace(unheard, outcomes=(heard, *unheard.outcomes))
    if case.effect in CUTS:
        heard = Outcome(({0}, {0, 1}), (DONE,), "n1 may hear how the job ended, or nothing")
    return Expected((heard,), SLACK_S + silence + FAREWELL_S)
