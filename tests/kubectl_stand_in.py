#!/usr/bin/env python3
"""A stand-in for kubectl, because the tests' API server does not speak what `kubectl exec` needs (SPDY).

It takes just the words that are documented (kubernetes.io/docs/reference/kubectl/generated/kubectl_exec) and
refuses all others. CLUSTER, a JSON file, says which objects there are, and of each pod the process whose
namespaces and variables a command in it gets:

    {"objects": {"pytorchjobs.kubeflow.org": {NAME: {…}}}, "pods": [{…}],
     "processes": {POD: PID}, "refusals": {POD: LINE}}

As with a real one, what is executed lives on when kubectl dies; only its standard input ends then.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import threading
import urllib.parse

from api_lists import resource_in
from api_objects import matches

def give_up(line, code=1):
    print(line, file=sys.stderr)
    sys.exit(code)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        give_up(f"error: {message}\nSee 'kubectl {self.prog} --help' for usage.")


def split_exec(words):
    """exec (POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]"""
    parser = Parser(prog="exec", add_help=False, allow_abbrev=False)
    parser.add_argument("pod")
    parser.add_argument("-c", "--container")
    parser.add_argument("-i", "--stdin", action="store_true")
    parser.add_argument("-t", "--tty", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--pod-running-timeout")
    if "--" not in words or words[-1] == "--":
        give_up("error: you must specify at least one command for the container")
    at = words.index("--")
    return parser.parse_args(words[:at]), words[at + 1:]


def copy(source, target):
    try:
        while chunk := os.read(source, 65536):
            while chunk:
                chunk = chunk[os.write(target, chunk):]
    except OSError:
        pass


def execute(cluster, words):
    given, command = split_exec(words)
    pods = {pod["metadata"]["name"]: pod for pod in cluster["pods"]}
    name = given.pod.removeprefix("pod/")
    if name not in pods:
        give_up(f'Error from server (NotFound): pods "{name}" not found')
    containers = [one["name"] for one in pods[name]["spec"]["containers"]]
    if given.container and given.container not in containers:
        give_up(f"Error from server (BadRequest): container {given.container} is not valid for pod {name}")
    if line := cluster.get("refusals", {}).get(name):
        give_up(line)
    if given.tty and not os.isatty(0):
        print("Unable to use a TTY - input is not a terminal or the right kind of file", file=sys.stderr)
    return enter(cluster["processes"][name], command, given.stdin)


def enter(pid, command, with_stdin):
    variables = dict(entry.split("=", 1) for entry in
                     pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in entry)
    variables.update({name: value for name, value in os.environ.items() if name == "TEST_RUN_MARK"})
    child = subprocess.Popen(["nsenter", "-t", str(pid), "-m", "-u", "-n", "--wd", *command], env=variables,
                             stdin=subprocess.PIPE if with_stdin else subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def feed():
        copy(0, child.stdin.fileno())
        child.stdin.close()
    if with_stdin:
        threading.Thread(target=feed, daemon=True).start()
    copies = [threading.Thread(target=copy, args=(stream.fileno(), number), daemon=True)
              for number, stream in ((1, child.stdout), (2, child.stderr))]
    for thread in copies:
        thread.start()
    code = child.wait()
    for thread in copies:
        thread.join()
    code = code if code >= 0 else 128 - code
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    os._exit(code)


def get(cluster, words):
    """get --raw PATH, as the API server answers it in one page."""
    parser = Parser(prog="get", add_help=False, allow_abbrev=False)
    parser.add_argument("--raw", required=True)
    url = urllib.parse.urlsplit(parser.parse_args(words).raw)
    query = dict(urllib.parse.parse_qsl(url.query))
    group, _, _, plural, name, _ = resource_in(url.path)
    kind = f"{plural}.{group}" if group else plural
    objects = {**cluster["objects"], "pods": {pod["metadata"]["name"]: pod for pod in cluster["pods"]}}
    if kind not in objects:
        give_up("Error from server (NotFound): the server could not find the requested resource")
    if not name:
        items = [one for one in objects[kind].values()
                 if matches(query.get("labelSelector", ""), one["metadata"].get("labels", {}))]
        return print(json.dumps({"kind": "List", "metadata": {}, "items": items}))
    if name not in objects[kind]:
        give_up(f'Error from server (NotFound): {kind} "{name}" not found')
    print(json.dumps(objects[kind][name]))


def main():
    cluster = json.loads(pathlib.Path(os.environ["CLUSTER"]).read_text())
    words = sys.argv[1:]
    if words[:1] == ["exec"]:
        execute(cluster, words[1:])
    elif words[:1] == ["get"]:
        get(cluster, words[1:])
    elif words[:2] == ["config", "view"]:
        give_up("error: current-context must exist in order to minify")
    else:
        give_up(f'error: unknown command "{" ".join(words[:1])}" for "kubectl"')


main()
