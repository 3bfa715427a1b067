"""Cases that submit jobs to the virtual cluster's Slurm by toprun itself."""

import pathlib
import re
import shlex
import shutil
import subprocess
import time

import cluster
from cluster import wait_for
from support import TOPRUN

SLURMDS_PATIENCE_S = 3


def starts_in(job):
    """Seconds until Slurm may begin this job."""
    return time.mktime(time.strptime(job["EligibleTime"], "%Y-%m-%dT%H:%M:%S")) - time.time()


class SubmitCase(cluster.SlurmCase):
    def submit(self, *words, cwd=None, env=None, limit=30):
        return self.begin(*self.cluster.on("ctl", TOPRUN, "submit", *words), cwd=cwd,
                          env={"PYTHON_EXEC": shutil.which("python3"), **(env or {})}).wait(limit)

    def submitted(self, *words, **options):
        """The id of a job that was taken."""
        finished = self.submit(*words, **options)
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"\A\d+\n\Z")
        return finished.out.strip()

    def job(self, id):
        return dict(re.findall(r"(\S+?)=(\S*)", self.login("scontrol", "show", "job", "-o", id).out))

    def wait_for_state(self, id, *states, limit=30):
        return self.wait_for_job(id, lambda: (job := self.job(id)).get("JobState") in states and job,
                                 f"job {id} is {' or '.join(states)}", limit)

    def wait_for_job(self, id, condition, what, limit):
        try:
            return wait_for(condition, what, limit)
        except AssertionError as error:
            job = self.job(id)
            outputs = "".join(f"--- {path.name}\n{path.read_text()}"
                              for path in sorted(pathlib.Path(job.get("WorkDir", "/none")).glob("logs/**/*.out")))
            raise AssertionError(f"{error}\n{job}\n{outputs}") from None

    def start_again(self, id):
        """Slurm keeps a requeued job back for two minutes from when its last node is free, which is
        no part of a case. A few seconds have to be: a slurmd takes nothing for a job that was issued in
        the second in which it ended that job."""
        def starts():
            job = self.job(id)
            if job["JobState"] in ("RUNNING", "COMPLETED", "FAILED"):
                return True
            if job["JobState"] == "PENDING" and starts_in(job) > 2 * SLURMDS_PATIENCE_S:
                self.login("scontrol", "update", f"JobId={id}", f"StartTime=now+{SLURMDS_PATIENCE_S}")
            elif job["JobState"] == "PENDING" and starts_in(job) <= 0:
                self.login("scontrol", "update", f"JobId={id}", "StartTime=now")  # look at it now
            return False

        wait_for(starts, "the requeued job begins")

    def shell(self, words, typed, limit=60, **options):
        """What a terminal shows when this is typed into `toprun shell`."""
        return self.in_terminal([TOPRUN, "shell", *words], typed, limit, **options)

    def in_terminal(self, command, typed, limit=60, env=None, **options):
        """What a terminal on the login host shows when this is typed into a command. Its shells read no
        start file of whoever runs the tests: one may wait for a lock that a killed shell has left."""
        words = shlex.join([*map(str, self.cluster.on("ctl", *command))])
        run = self.begin("script", "-qec", words, "/dev/null", stdin=subprocess.PIPE,
                         env={"SHELL": "/bin/bash", "PYTHON_EXEC": shutil.which("python3"),
                              "HOME": str(self.folder()), **(env or {})}, **options)
        run.process.stdin.write(typed.encode())
        run.process.stdin.flush()
        finished = run.wait(limit)
        finished.out = re.sub(r"\r|\x1b\[\?2004[hl]", "", finished.out)
        return finished
