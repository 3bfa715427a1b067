"""The command line: flags in, one story per command, text out."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

from . import namespaces, network, plan, slurm, ssh, state
from .errors import VclusterError

DEFAULT_NAME = "vcluster"


def up(options: argparse.Namespace) -> int:
    wanted = plan.make_plan(
        options.hosts,
        options.racks,
        options.rack_of,
        uplink=options.uplink,
        nics=options.nics,
        cluster_nic=options.cluster_nic,
        docker0=options.docker0,
        own_name=options.own_name,
        family=options.family,
        cpus=options.cpus,
        slurm=options.slurm,
        slurm_topology=options.slurm_topology,
        gpus=options.gpus,
        ssh=options.ssh,
    )
    user_namespace = os.geteuid() != 0
    if options.slurm:
        slurm.check_permitted(user_namespace)
    if options.ssh:
        ssh.check_permitted(user_namespace)
    namespaces.check_permitted(user_namespace)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: undone
    began = time.monotonic()
    cluster, _lock = state.create(options.name, namespaces.netns_of("self"), user_namespace)
    try:
        _build(cluster, wanted, began)
    except BaseException:
        _undo(cluster)
        raise
    return 0


def _build(cluster: state.State, wanted: plan.Plan, began: float) -> None:
    cluster.plan = wanted
    for folder in ("hosts", "scratch", "munge"):
        (cluster.folder / folder).mkdir()
    for host in wanted.everybody():
        (cluster.folder / "hosts" / host.name).write_text(plan.hosts_file(wanted, host))
    state.save(cluster)
    namespaces.hold_all(cluster, wanted)
    network.build(cluster, wanted)
    say(f"up after {time.monotonic() - began:.1f} s: {_summary(wanted)}")
    if wanted.ssh:
        ssh.start(cluster, wanted)
    if wanted.slurm:
        slurm.start(cluster, wanted)
        slurm.wait_idle(cluster, wanted)
        say(f"Slurm idle after {time.monotonic() - began:.1f} s")
    cluster.ready = True
    state.save(cluster)


def _undo(cluster: state.State) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not stop the cleaning
    namespaces.kill_all(cluster)
    state.remove(cluster.name)


def down(options: argparse.Namespace) -> int:
    wanted = state.names() if options.all else [options.name]
    for name in wanted:
        if name not in state.names():
            say(f"no cluster '{name}': nothing to do")
            continue
        cluster, lock = state.load_locked(name)
        if cluster is None:
            state.remove(name)
        else:
            _undo(cluster)
        os.close(lock)
        say(f"cluster '{name}' is gone")
    return 0


def execute(options: argparse.Namespace) -> int:
    cluster = state.load(options.name)
    if options.host != plan.SWITCHES:
        cluster.plan.host(options.host)
    command = _command(options.command) or [os.environ.get("SHELL", "sh")]
    argv = _argv(cluster, options.host, command)
    os.execvpe(argv[0], argv, _job_environment(cluster, options.host))


def _command(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words


def _argv(cluster: state.State, host: str, command: list[str]) -> list[str]:
    namespaces.check_alive(cluster, host)
    folder = os.getcwd()
    if folder == "/run" or folder.startswith("/run/"):
        folder = "/"  # hosts have a /run of their own
    return [*namespaces.inside(cluster, host, folder), *command]


def _job_environment(cluster: state.State, host: str) -> dict[str, str]:
    return {**namespaces.environment(cluster), "HOSTNAME": host}


def run_all(options: argparse.Namespace) -> int:
    cluster = state.load(options.name)
    command = _command(options.command)
    if not command:
        raise VclusterError("run-all: no command given")
    running: list[tuple[subprocess.Popen, list[threading.Thread]]] = []
    for host in cluster.plan.hosts:
        process = subprocess.Popen(
            _argv(cluster, host.name, command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_job_environment(cluster, host.name),
        )
        copies = [
            threading.Thread(target=_copy_lines, args=(host.name, source, target))
            for source, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
        ]
        for copy in copies:
            copy.start()
        running.append((process, copies))
    codes = []
    for process, copies in running:
        for copy in copies:
            copy.join()
        code = process.wait()
        codes.append(128 - code if code < 0 else code)
    return next((code for code in codes if code != 0), 0)


def _copy_lines(host: str, source, target) -> None:
    for line in source:
        text = line.decode(errors="replace").rstrip("\n")
        target.write(f"{host}: {text}\n")  # one call per line: two hosts never share one
        target.flush()


def status(options: argparse.Namespace) -> int:
    cluster = state.load(options.name)
    rows = _host_rows(cluster)
    if options.json:
        document = {
            "schema": "toprun.vcluster/1",
            "name": cluster.name,
            "uplink": cluster.plan.uplink,
            "folder": str(cluster.folder),
            "hosts": rows,
        }
        print(json.dumps(document, indent=1))
        return 0
    print(f"cluster '{cluster.name}': {_summary(cluster.plan)}")
    heads = [key for key in rows[0] if rows[0][key] is not None or key == "rack"]
    table = [heads, *([_word(row[key]) for key in heads] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(heads))]
    for line in table:
        print("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip())
    return 0


def _word(value) -> str:
    return "-" if value is None else str(value)


def _host_rows(cluster: state.State) -> list[dict]:
    members = namespaces.processes(cluster)
    nodes = slurm.node_states(cluster) if cluster.plan.slurm else {}
    rows = []
    for host in cluster.plan.everybody():
        pid = cluster.holders[host.name]
        space = members.get(pid)
        reach = "gone" if space is None else "cut" if host.name in cluster.cut else "up"
        inside = sum(1 for other in members.values() if other == space) - 1 if space else 0
        rows.append(
            {
                "host": host.name,
                "rack": host.rack,
                "address": plan.main_address(cluster.plan, host),
                "network": reach,
                "processes": inside,  # without the one that holds the namespaces
                "pid": pid,
                "slurm": nodes.get(host.name),
            }
        )
    return rows


def topology(options: argparse.Namespace) -> int:
    print(plan.locations(state.load(options.name).plan), end="")
    return 0


def cut(options: argparse.Namespace) -> int:
    return _change_cable(options, network.cut, lambda cuts, host: {*cuts, host})


def join(options: argparse.Namespace) -> int:
    return _change_cable(options, network.join, lambda cuts, host: {*cuts} - {host})


def _change_cable(options: argparse.Namespace, act, note) -> int:
    state.load(options.name)
    cluster, _lock = state.load_locked(options.name)
    act(cluster, cluster.plan.host(options.host))
    cluster.cut = sorted(note(cluster.cut, options.host))
    state.save(cluster)
    return 0


def _summary(wanted: plan.Plan) -> str:
    def count(number: int, noun: str) -> str:
        return f"{number} {noun}{'' if number == 1 else 's'}"

    rate = f"uplinks {wanted.uplink}" if wanted.uplink else "uplinks without a limit"
    return f"{count(len(wanted.hosts), 'host')} in {count(len(wanted.racks), 'rack')}, {rate}"


def say(text: str) -> None:
    print(f"vcluster: {text}", file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="vcluster",
        description="A cluster of virtual hosts on this machine. docs/guides/vcluster.md has more.",
        epilog="example: vcluster up --hosts 8 --racks 4 --uplink 400mbit --slurm && "
        "vcluster exec ctl srun -N8 hostname; vcluster down",
    )
    verbs = top.add_subparsers(metavar="COMMAND", required=True)

    def verb(name: str, act, text: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        one.add_argument("--name", default=DEFAULT_NAME, help="which cluster (default %(default)s)")
        one.set_defaults(act=act)
        return one

    _add_up_options(verb("up", up, "make a cluster"))
    one = verb("exec", execute, "run a command on a host: n0 …, ctl or switches; none: a shell")
    one.add_argument("host", metavar="HOST")
    one.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD")
    one = verb("run-all", run_all, "run a command on every host at once, lines prefixed by host")
    one.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD")
    one = verb("status", status, "hosts, racks, addresses, processes")
    one.add_argument("--json", action="store_true")
    verb("topology", topology, "`host /cluster/rack/host` lines, for toprun --topology FILE")
    one = verb("cut", cut, "take a host off the network: packets are lost, nothing is refused")
    one.add_argument("host", metavar="HOST")
    one = verb("join", join, "put a host back on the network")
    one.add_argument("host", metavar="HOST")
    one = verb("down", down, "end everything in the cluster and remove it, also after a crash")
    one.add_argument("--all", action="store_true", help="every cluster of this user")
    return top


def _add_up_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--hosts", type=int, metavar="N", help="n0 … (default 8)")
    one.add_argument("--racks", type=int, metavar="N", help="hosts take turns (default 1)")
    one.add_argument("--rack-of", metavar="R,R,…", help="the rack of each host: b,d,a,c,e,f,b,f")
    one.add_argument("--uplink", metavar="RATE", help="of each rack: 400mbit (default: no limit)")
    one.add_argument("--slurm", action="store_true", help="a real Slurm, racks as its topology")
    one.add_argument(
        "--slurm-topology",
        choices=plan.SLURM_TOPOLOGIES,
        default="tree",
        help="racks as switches (default), as blocks (Slurm 24.05), or as switches of a "
        "topology.yaml (25.05)",
    )
    one.add_argument(
        "--gpus",
        type=int,
        default=0,
        metavar="N",
        help="with --slurm: so many made-up GPUs per host, for --gpus-per-node",
    )
    one.add_argument("--ssh", action="store_true", help="an sshd on each, for toprun --hosts")
    one.add_argument("--cpus", type=int, default=32, help="per host, as Slurm sees it (default 32)")
    one.add_argument("--nics", type=int, default=1, help="interfaces per host (default 1)")
    one.add_argument(
        "--cluster-nic",
        type=int,
        default=0,
        metavar="I",
        help="ethI reaches the others, the rest nobody (default 0)",
    )
    one.add_argument("--docker0", action="store_true", help="172.17.0.1 on each, as Docker has it")
    one.add_argument(
        "--own-name",
        choices=plan.OWN_NAMES,
        default="address",
        help="what a host's own name resolves to on itself: its address, 127.0.1.1 "
        "(Debian's habit) or nothing",
    )
    one.add_argument("--family", choices=plan.FAMILIES, default="both", help="addresses of hosts")


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        plan.check_cluster_name(options.name)
        return options.act(options)
    except VclusterError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except BrokenPipeError:
        return 1
