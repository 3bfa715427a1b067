"""What a check found, and the report of all."""

import dataclasses
import datetime
import json

OK, DIFFERS, CANNOT_TELL, NOT_RUN = "ok", "differs", "cannot tell", "not run"
LONGEST_SEEN = 2_000  # characters


@dataclasses.dataclass
class Finding:
    check: str
    what: str
    verdict: str
    expected: str
    seen: str
    command: str = ""
    seconds: float = 0.0


def brief(text):
    text = text.strip()
    return text if len(text) <= LONGEST_SEEN else text[:LONGEST_SEEN] + " …"


def counts(findings):
    return {verdict: sum(one.verdict == verdict for one in findings)
            for verdict in (OK, DIFFERS, CANNOT_TELL, NOT_RUN)}


def summary(findings):
    return ", ".join(f"{count} {verdict}" for verdict, count in counts(findings).items())


def as_json(machine, findings, seconds, rehearsal):
    return json.dumps({"schema": "toprun.gpu_check/1", "rehearsal": rehearsal, "seconds": round(seconds, 1),
                       "machine": machine, "counts": counts(findings),
                       "findings": [dataclasses.asdict(one) for one in findings]}, indent=1) + "\n"


def as_text(machine, findings, seconds, rehearsal):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"# gpu_check{', a rehearsal without a GPU' if rehearsal else ''}: {now}", "",
             f"{summary(findings)}; {seconds:.0f} s", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {cell(value)} |" for name, value in machine.items()]
    lines += ["", "| check | verdict | s |", "|---|---|---|"]
    lines += [f"| {one.check}: {cell(one.what)} | {one.verdict} | {one.seconds:.1f} |" for one in findings]
    for one in findings:
        lines += ["", f"## {one.check}: {one.what}", "", f"**{one.verdict}**, {one.seconds:.1f} s", ""]
        if one.command:
            lines += ["    " + one.command, ""]
        lines += [f"Expected: {one.expected}", "", "Seen:", ""]
        lines += ["    " + line for line in brief(one.seen).splitlines()]
    return "\n".join(lines) + "\n"


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", "; ")
