# ctest: TIMEOUT 300 LABELS container
"""`toprun stacks`: where the ranks of a running job stand, by its id, its report or alone; and what PyTorch's
flight recorder left."""

import json
import os
import pathlib
import pickle
import signal
import sys
import unittest

import containers
import support

TOPRUN = support.TOPRUN
STANDS = """\
import os, time
def waits():
    open(os.environ["READY"] + os.environ["RANK"], "w").close()
    time.sleep(600)
waits()
"""
# Hides the jobs of other tests, whose sockets are in the folders that are looked through too.
WITHOUT_OTHERS = ["unshare", "--mount", "sh", "-c",
                  'for each in /tmp/toprun-0 /run/user/0/toprun; do [ ! -d $each ] || mount -t tmpfs none $each; done; '
                  'exec "$@"', "sh"] if os.geteuid() == 0 else []

# Runs a command in which process_vm_readv is refused, as seccomp profiles of container runtimes do it.
WITHOUT_READING = """\
import ctypes, os, struct, sys
READV, ERRNO_EPERM, ALLOW = 310, 0x00050001, 0x7fff0000
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, READV), (0x06, 0, 0, ERRNO_EPERM), (0x06, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0, os.strerror(ctypes.get_errno())
assert libc.process_vm_readv(os.getpid(), None, 0, None, 0, 0) == -1
os.execvp(sys.argv[1], sys.argv[1:])
"""


def dump(calls, completed, ranks):
    """What PyTorch writes of a rank: (operation, sizes) of each call."""
    entries = [{"process_group": ("0", "default_pg"), "collective_seq_id": i, "profiling_name": operation,
                "input_sizes": [sizes], "output_sizes": [sizes], "input_dtypes": ["Float"], "output_dtypes": ["Float"],
                "state": "completed" if i <= completed else "scheduled", "retired": i <= completed, "is_p2p": False,
                "frames": []} for i, (operation, sizes) in enumerate(calls, 1)]
    return {"version": "2.10", "entries": entries,
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}},
            "pg_status": {"0": {"last_enqueued_collective": len(calls), "last_started_collective": completed,
                                "last_completed_collective": completed}}}


class Stacks(support.TestCase):
    def running(self, *options, before=()):
        program = self.folder() / "stands.py"
        program.write_text(STANDS)
        run = self.begin(*before, TOPRUN, "--nproc-per-node", "2", *options, program,
                         env={"READY": str(program.with_name("ready")), "XDG_RUNTIME_DIR": str(program.parent)})
        for rank in "01":
            support.wait_until(program.with_name("ready" + rank).exists, 60, "the ranks run")
        return program, run

    def root_of(self, program):
        """The root agent's process, by its socket; other tests' jobs run on this host too."""
        socket, = (program.parent / "toprun").iterdir()
        return socket.stem

    def stacks(self, program, *words):
        return self.run_to_end(*WITHOUT_OTHERS, TOPRUN, "stacks", *words, env={"XDG_RUNTIME_DIR": str(program.parent)})

    def test_of_the_only_job(self):
        program, run = self.running()
        asked = self.stacks(program, str(self.root_of(program)))
        self.assert_ok(asked)
        host = os.uname().nodename
        self.assertEqual(asked.out, f"ranks 0-1: sleep at stands.py:4 in waits\n    waits, {program}:4\n"
                                    f"    <module>, {program}:5\n")
        by_its_launcher = self.stacks(program, run.process.pid)  # $! of a shell
        self.assertEqual(by_its_launcher.out, asked.out, by_its_launcher)
        for other in (1, os.getpid()):  # above the job too, and the ids of jobs of other engines
            self.assertEqual(self.stacks(program, other).out, "")
        groups = json.loads(self.stacks(program, str(self.root_of(program)), "--json").out)["groups"]
        self.assertEqual([(one["ranks"], one["doing"]) for one in groups], [("0-1", "waits")], host)
        self.assertEqual(groups[0]["frames"][0], {"file": str(program), "function": "waits", "line": 4})
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(60).code, 143)
        self.assertEqual(list((program.parent / "toprun").iterdir()), [])

    def test_by_its_report(self):
        program = self.folder() / "none"
        report = program.with_name("report.json")
        program, run = self.running("--report", report)
        self.assertIn("in waits", self.stacks(program, report).out)
        run.signal(signal.SIGTERM)
        run.wait(60)
        self.assert_one_line(self.stacks(program, report), f"cannot ask the job of {report}: the job has ended; toprun status {report} shows how")

    def test_a_process_id_that_leads_no_job(self):
        done = self.run_to_end(TOPRUN, "stacks", "4194304")
        self.assertEqual(done.code, 1)
        self.assert_one_line(done, "cannot tell where the ranks of job 4194304 are: no job of yours on .* has the process id "
                                   "4194304, and .*")

    def test_of_several_one_has_to_be_named(self):
        program, run = self.running()
        again = self.begin(TOPRUN, "--nproc-per-node", "1", program, env={
            "READY": str(program.with_name("again")), "XDG_RUNTIME_DIR": str(program.parent)})
        support.wait_until(program.with_name("again0").exists, 60, "it runs")
        asked = self.stacks(program)
        each = rf"\d+ \({program.name}, for \d[^,)]*\)"
        self.assert_one_line(asked, rf"2 of your jobs run on this host: {each}, {each}; name one job: toprun stacks JOB")
        for one in (program.parent / "toprun").iterdir():
            self.assertIn("in waits", self.stacks(program, one.stem).out)
        for one in (run, again):
            one.signal(signal.SIGTERM)
            one.wait(60)

    @unittest.skipUnless(os.uname().machine == "x86_64", "the number of a system call is that of x86-64")
    def test_seccomp_forbids_the_call_that_reads(self):
        """Then /proc/PID/mem is read."""
        program, _ = self.running(before=(sys.executable, "-c", WITHOUT_READING))
        asked = self.stacks(program, str(self.root_of(program)))
        self.assert_ok(asked)
        self.assertRegex(asked.out, r"\Aranks 0-1: sleep at stands\.py:4 in waits\n")

    def test_a_worker_that_is_not_python(self):
        folder = self.folder()
        self.begin(TOPRUN, "--no-python", "sh", "-c", f": >{folder}/ready; exec sleep 600",
                   env={"XDG_RUNTIME_DIR": str(folder)})
        support.wait_until((folder / "ready").exists, 60, "the rank runs")
        asked = self.stacks(folder / "ready", str(self.root_of(folder / "ready")))
        self.assert_ok(asked)
        self.assertRegex(asked.out, r"\Arank 0 on \S+: sleeps[^\n]*\n\Z")

    def test_a_job_that_was_killed_is_none(self):
        program, run = self.running()
        run.kill_all()
        support.wait_until(lambda: not run.processes(), 30, "nothing is left")
        self.stacks(program)
        self.assertEqual(list((program.parent / "toprun").iterdir()), [])


class InAContainer(containers.PodmanCase):
    PYTHON_INSIDE = True

    def test_ranks_that_have_ids_of_their_own(self):
        """The container has a PID namespace, in which other processes have the ids that its ranks have here."""
        folder = self.folder()
        program = folder / "stands.py"
        program.write_text(STANDS)
        own = {**self.podman.env, "XDG_RUNTIME_DIR": str(folder)}
        run = self.begin(TOPRUN, "--container", containers.IMAGE, "--bind", folder, "-e", f"READY={folder}/ready",
                         "--nproc-per-node", "2", program, env=own)
        for rank in "01":
            support.wait_until((folder / f"ready{rank}").exists, 100, "the ranks run")
        socket, = (folder / "toprun").iterdir()
        asked = self.run_to_end(TOPRUN, "stacks", socket.stem, env=own)
        self.assert_ok(asked)
        self.assertIn("ranks 0-1: sleep at stands.py:4 in waits\n", asked.out)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(60).code, 143)


class Dumps(support.TestCase):
    def dumps(self, calls, completed):
        folder = self.folder()
        for rank, one in enumerate(calls):
            (folder / f"comm_lib_trace_rank_{rank}").write_bytes(
                pickle.dumps(dump(one, completed, len(calls)), protocol=2))
        return folder

    def test_who_is_behind(self):
        reduces = [("nccl:all_reduce", [4])] * 3
        folder = self.dumps([reduces, reduces, reduces[:2]], 2)
        done = self.run_to_end(TOPRUN, "stacks", "--dumps", folder)
        self.assert_ok(done)
        self.assertEqual(done.out, "group 0: rank 2 never came to call 3 (nccl:all_reduce), in which the others wait\n")

    def test_who_gave_another_size(self):
        folder = self.dumps([[("nccl:all_reduce", [4])], [("nccl:all_reduce", [5])], [("nccl:all_reduce", [4])]], 0)
        done = self.run_to_end(TOPRUN, "stacks", "--dumps", folder, "--json")
        self.assert_ok(done)
        finding, = json.loads(done.out)["findings"]
        self.assertEqual([finding["kind"], finding["ranks"], finding["got"], finding["expected"]],
                         ["mismatch", [1], "[[5]] -> [[5]]", "[[4]] -> [[4]]"])

    def test_files_that_are_no_dump_are_passed_over_by_name(self):
        reduces = [("nccl:all_reduce", [4])] * 3
        folder = self.dumps([reduces, reduces, reduces[:2], reduces], 2)
        whole = (folder / "comm_lib_trace_rank_3").read_bytes()
        odd = {"comm_lib_trace_rank_3": b"",  # its rank was killed while it wrote
               "comm_lib_trace_rank_4": whole[:-20],
               "events.out.tfevents.1700000000.n0.42.0": b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22",
               "rank_6.json": b'{"version": "2.10", "entries": [',
               "rank_7.json": b'{"loss": 1}',
               "rank_8": pickle.dumps({"version": "2.10", "entries": []}, protocol=4)}
        for name, content in odd.items():
            (folder / name).write_bytes(content)
        (folder / "notes.txt").write_text("no rank in its name")
        done = self.run_to_end(TOPRUN, "stacks", "--dumps", folder)
        self.assert_ok(done)
        self.assertEqual(done.out.splitlines(), [
            "group 0: rank 2 never came to call 3 (nccl:all_reduce), in which ranks 0-1 wait", "no dump of rank 3"])
        told = done.err.splitlines()
        self.assertEqual(len(told), len(odd), done.err)
        for name, line in zip(sorted(odd), told):
            self.assertRegex(line, rf"^toprun: ignored .*/{name}: ")
        done = self.run_to_end(TOPRUN, "stacks", "--dumps", folder, "--json")
        self.assertEqual(sorted(pathlib.Path(one["file"]).name for one in json.loads(done.out)["passed_over"]), sorted(odd))

    def test_names_with_an_ending(self):
        reduces = [("nccl:all_reduce", [4])] * 2
        folder = self.folder()
        for rank, name in enumerate(("nccl_trace_rank_0.pkl", "rank_1.pickle", "2.json")):
            one = dump(reduces[:1] if rank == 2 else reduces, 1, 3)
            (folder / name).write_bytes(json.dumps(one).encode() if name.endswith("json") else pickle.dumps(one, 2))
        done = self.run_to_end(TOPRUN, "stacks", "--dumps", folder)
        self.assertEqual([done.out, done.err],
                         ["group 0: rank 2 never came to call 2 (nccl:all_reduce), in which the others wait\n", ""])

    def test_a_rank_that_is_there_twice(self):
        reduces = [("nccl:all_reduce", [4])] * 2
        folder = self.dumps([reduces, reduces], 2)
        stale = folder / "nccl_trace_rank_1"
        stale.write_bytes(pickle.dumps(dump(reduces[:1], 0, 2), protocol=2))
        os.utime(stale, (1, 1))
        done = self.run_to_end(TOPRUN, "stacks", "--dumps", folder)
        self.assertEqual(done.out, "all ranks made the same calls, and all calls have ended\n")
        self.assertRegex(done.err, r"^toprun: ignored .*/nccl_trace_rank_1: for rank 1, toprun uses the dump in comm_lib_trace_rank_1\n$")

    def test_what_is_no_dump(self):
        folder = self.folder()
        self.assert_one_line(self.run_to_end(TOPRUN, "stacks", "--dumps", folder / "x"), "--dumps .*/x: No such file or directory; .*")
        self.assert_one_line(self.run_to_end(TOPRUN, "stacks", "--dumps", folder), ".*no dump of PyTorch's .*")

        class Evil:
            def __reduce__(self):
                return pathlib.Path.touch, (folder / "touched",)

        (folder / "rank_0").write_bytes(pickle.dumps(Evil(), protocol=2))
        self.assert_one_line(self.run_to_end(TOPRUN, "stacks", "--dumps", folder),
                             ".*: this folder contains no dump of .*/rank_0: .*")
        self.assert_one_line(self.run_to_end(TOPRUN, "stacks", "--dumps", folder / "rank_0"), "--dumps .*/rank_0: Not a directory; .*")
        (folder / "empty.json").touch()
        for verb in "status", "stacks", "report", "top":
            done = self.run_to_end(TOPRUN, verb, folder / "empty.json")
            self.assertEqual((done.code, done.err.count("it is empty\n")), (2, 1), done)
        self.assertFalse((folder / "touched").exists())


if __name__ == "__main__":
    unittest.main()
