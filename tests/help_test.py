"""What toprun says of itself: the help of every verb, the manual page, completion in a real bash, and
what becomes of a verb that was mistyped."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
import unittest

import support

WIDTH = 80
FAMILIES = {"topo": ("show", "order", "draw", "score", "convert"), "net": ("show", "env"), "config": ("show", "init")}


def verbs():
    """The verbs, as toprun -h lists them."""
    text = subprocess.run([support.binary(), "-h"], capture_output=True, text=True).stdout
    listed = text.partition("Verbs (")[2].partition("\n\n")[0].splitlines()[1:]
    return [line.split()[0] for line in listed if re.match(r"  \w", line)]


def commands():
    """The words of every command that has a help of its own."""
    own = [[verb] for verb in verbs()]
    return [[], ["run"]] + own + [[verb, each] for verb, all in FAMILIES.items() for each in all]


class Help(support.TestCase):
    def test_verbs_are_named(self):
        self.assertLessEqual({"submit", "jobs", "topo", "completion", "man", "help"}, set(verbs()))

    def test_a_reader_that_has_enough_is_no_error(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([support.binary(), "man"], stdout=writing, stderr=subprocess.PIPE, text=True)
        os.close(writing)
        self.assertIn(done.returncode, (-signal.SIGPIPE, 128 + signal.SIGPIPE))
        self.assertEqual(done.stderr, "")

    def test_words_that_an_argument_may_be_are_listed(self):
        told = self.toprun("help", "bench")
        self.assertRegex(told.out, r"COLLECTIVE +One of these: all_reduce, all_gather,\n")

    def test_every_help_has_one_style_and_fits_80_columns(self):
        for words in commands():
            for flag in ("-h", "--help"):
                with self.subTest(command=" ".join(words), flag=flag):
                    told = self.toprun(*words, flag)
                    self.assert_ok(told)
                    self.assertEqual(told.err, "")
                    name = "toprun" if words == ["run"] else " ".join(["toprun", *words])
                    self.assertTrue(told.out.startswith(f"usage: {name}"), told.out)
                    self.assertIn("\nExamples:\n", told.out)
                    for line in told.out.splitlines():
                        self.assertLessEqual(len(line), WIDTH, line)
                    if flag == "--help" and words[:1] not in (["topo"], ["net"], ["config"]):
                        self.assertIn("\nExit codes:\n", told.out)

    def test_a_verb_that_is_called_as_an_option_has_its_page(self):
        self.assertTrue(self.toprun("help", "bench", "history").out.startswith("usage: toprun bench history"))

    def test_logs_names_the_exit_code_of_the_job(self):
        codes = self.toprun("help", "logs").out.partition("\nExit codes:\n")[2]
        self.assertRegex(codes, r"^  N  +with -f: the exit code of toprun in the job")
        self.assertIn("\n  0  ", codes)

    def test_a_refusal_names_the_verb_once(self):
        self.assertEqual(self.toprun("cancel").err, "toprun: no ID given; toprun cancel --help shows the usage\n")
        self.assertEqual(self.toprun("topo", "draw", "--x").err,
                         "toprun: unknown option --x; toprun topo draw --help lists the options\n")

    def test_help_verb_is_the_verbs_help(self):
        self.assertEqual(self.toprun("help").out, self.toprun("-h").out)
        for words in ("submit", "topo order", "run", "jobs"):
            self.assertEqual(self.toprun("help", *words.split()).out,
                             self.toprun(*words.split(), "--help").out)
        refused = self.toprun("help", "sumbit")
        self.assertEqual(refused.code, 2)
        self.assertIn("did you mean submit?", refused.err)

    def test_help_takes_no_more_words_than_a_verbs_name(self):
        for words, extra, fix in (("submit nosuch", "nosuch", "see toprun help submit"),
                                  ("run train.py", "train.py", "see toprun help run"),
                                  ("topo order nosuch", "nosuch", "see toprun help topo order"),
                                  ("bench nosuch", "nosuch", "choose one of: pairs, compare, import, history"),
                                  ("bench pair", "pair", "did you mean pairs\\?")):
            with self.subTest(words):
                done = self.toprun("help", *words.split())
                self.assertEqual((done.code, done.out), (2, ""))
                self.assert_one_line(done, rf"help {words}: there is no verb {extra} .*; {fix}")

    def test_the_page_has_the_table_of_exit_codes(self):
        lines = self.toprun("--help").out.partition("\nExit codes:\n")[2].splitlines()
        told, code = {}, None
        for line in lines:
            left, text = line[:30].strip(), line[30:].strip()
            code = left or code
            told[code] = f"{told[code]} {text}" if code in told else text
        page = (support.REPOSITORY / "docs/reference/exit-codes.md").read_text()
        rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page, re.M))
        rows.pop("Code", None)
        rows.pop("---", None)
        self.assertEqual(rows, told)

    def test_each_verb_is_on_the_page_that_the_table_links(self):
        reference = support.REPOSITORY / "docs/reference"
        table = re.findall(r"^\| `(\S+?)[ `].* \| \[.*?\]\((\S+?)(?:#(\S+))?\) \|$", (reference / "commands.md").read_text(), re.M)
        self.assertGreater(len(table), 15)
        for verb, page, anchor in table:
            with self.subTest(verb):
                text = (reference / page).read_text()
                self.assertRegex(text, rf"toprun \[?{verb}\b|`{verb}\b")
                headings = [re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in re.findall(r"^#+ (.*)$", text, re.M)]
                self.assertIn(anchor or headings[0], headings)

    def test_sbatchs_letters(self):
        folder = self.folder()
        (folder / "t.py").write_text("")
        script = self.toprun("submit", "--dry-run=client", "-N", "2", "-t", "90", "-p", "main", "-A",
                             "me", "-J", "it", "-c", "4", "-G", "8", "-q", "high", "-C", "a100",
                             "-w", "n[0-1]", "-x", "n9", "-D", folder, "-d", "afterok:3", "-b", "now",
                             "-o", "x.%j", "-a", "0-1", "t.py", "-t", "3")
        self.assert_ok(script)
        for option in ("nodes=2", "time=90", "partition=main", "account=me", "job-name=it",
                       "cpus-per-task=4", "gpus=8", "qos=high", "constraint=a100",
                       "nodelist=\"n[0-1]\"", "exclude=n9", f"chdir={folder}", "dependency=afterok:3",
                       "begin=now", "output=x.%j", "array=0-1"):
            self.assertRegex(script.out, rf"(?m)^#SBATCH --{re.escape(option)}$")
        self.assertRegex(script.out, r"t\.py -t 3\n")


class Mistyped(support.TestCase):
    def refused(self, *words, **options):
        told = self.toprun(*words, **options)
        self.assertEqual(told.code, 2, told)
        self.assertEqual(told.err.count("\n"), 1, told)
        return told.err

    def test_what_is_nearly_a_verb_is_no_script(self):
        for words, meant in (("sumbit --nodes 2 train.py", "submit"), ("job", "jobs"),
                             ("log 3", "logs"), ("stat 3", "status"), ("comp bash", "completion"), ("statsu 3", "status"), ("toppo order", "topo"),
                             ("topology", "topo"), ("benchmark", "bench")):
            with self.subTest(words):
                said = self.refused(*words.split())
                self.assertIn("toprun has no verb with this name, and there is no such script here", said)
                self.assertIn(f"did you mean toprun {meant}?", said)

    def test_a_verb_after_an_option_is_not_a_script(self):
        for words, meant in (("--no-config config show", "`toprun config show`, and options after it"),
                             ("-v topo show", "`toprun topo show`"),
                             ("submit -N 2 bench all_reduce", "'srun toprun bench ...'")):
            with self.subTest(words):
                said = self.refused(*words.split())
                self.assertIn("this is a verb of toprun, and no script has this name", said)
                self.assertIn(meant, said)
        for words in (["-m", "bench"], ["--no-python", "bench"]):
            self.assertNotIn("verb", self.toprun(*words, env=support.without_torch()).err)

    def test_a_file_of_such_a_name_is_a_script(self):
        folder = self.folder()
        (folder / "job").write_text("print('ran')\n")
        for words in (["job"], ["./job"], ["--", "job"]):
            told = self.toprun(*words, cwd=folder, env=support.without_torch())
            self.assert_ok(told)
            self.assertEqual(told.out, "ran\n")

    def test_elsewhere_than_as_the_first_word_it_is_a_script(self):
        for words in (["--nproc-per-node", "1", "sumbit"], ["--", "sumbit"], ["./sumbit"]):
            self.assertNotIn("verb", self.refused(*words))

    def test_verbs_of_verbs(self):
        self.assertIn("did you mean order?", self.refused("topo", "oder"))
        self.assertIn("choose one of: show, init", self.refused("config"))


class Manual(support.TestCase):
    def test_man_reads_it_without_a_warning(self):
        support.needs_program("man")
        support.needs_program("groff")
        folder = self.folder() / "share/man1"
        written = self.toprun("man", "-o", folder)
        self.assert_ok(written)
        self.assertRegex(written.err, rf"\Atoprun: wrote \d+ manual pages to {folder}\n\Z")
        pages = {}
        for source in sorted(folder.iterdir()):
            with self.subTest(source.name):
                shown = subprocess.run(["man", "--warnings", "-l", source], capture_output=True, text=True,
                                       env={**os.environ, "MANWIDTH": str(WIDTH), "LC_ALL": "C.UTF-8"})
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                pages[source.stem] = re.sub(r".\x08", "", shown.stdout)
                if shutil.which("mandoc"):
                    checked = subprocess.run(["mandoc", "-Tlint", "-Wwarning", source], capture_output=True, text=True)
                    self.assertEqual(checked.stdout, "")
        self.assertLessEqual({"toprun", *("-".join(["toprun", *words]) for words in commands() if words not in ([], ["run"]))}, set(pages))
        self.assertEqual((folder / "toprun.1").read_text(encoding="ascii"), self.toprun("man").out)
        self.assertEqual((folder / "toprun-topo-order.1").read_text(encoding="ascii"), self.toprun("man", "topo", "order").out)
        of_verb = pages["toprun-submit"]
        self.assertEqual(re.findall(r"(?m)^[A-Z][A-Z ]+$", of_verb), ["NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"])
        self.assertIn("toprun-submit - write a batch job and submit it", of_verb)
        self.assertIn("--gpus-per-node [TYPE:]N", of_verb)
        page = pages["toprun"]
        self.assertLess(page.count("\n"), 1500)
        titles = ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES", "VERBS", "SEE ALSO")
        self.assertEqual([line for line in page.splitlines() if line in titles], list(titles))
        for text in ("toprun topo order", "SBATCH_TIMELIMIT",
                     "the exit code of the rank that failed first"):
            self.assertIn(text, page)
        parts = dict(zip(titles, re.split(rf"(?m)^(?:{'|'.join(titles)})\n", page)[1:]))
        self.assertEqual(page.count("exit code of the rank that failed first"), 1)
        for part, rows in (("EXIT STATUS", (r"128\+N\s+signal N ended the rank", r"75\s+Slurm preempted")),
                           ("ENVIRONMENT", (r"PET_NNODES\s+--nnodes", r"TOPRUN_ORDER\s+--order", r"SALLOC_TIMELIMIT\s+--time", r"PYTHON_EXEC",
                                            r"TOPRUN_ENGINE_TIMEOUT", r"TOPRUN_SECRET")),
                           ("FILES", (r"toprun\.toml", r"/etc/toprun\.toml", r"~/\.config/toprun/toprun\.toml",
                                      r"logs/JOB/", r"~/\.local/state/toprun/bench\.jsonl"))):
            for row in rows:
                self.assertRegex(parts[part], rf"(?m)^ +{row}", part)

    def test_on_a_terminal_it_is_shown_as_man_does(self):
        folder = self.folder()
        man = folder / "man"
        man.write_text('#!/bin/sh\necho "$@"\ngrep "^.TH"\n')
        man.chmod(0o755)
        for path, pattern in ((f"{folder}:/usr/bin:/bin", r"\A-l -\r\n\.TH TOPRUN-STATUS 1 "), ("/nowhere", r"\Ausage: toprun status")):
            master, slave = pty.openpty()
            self.addCleanup(os.close, master)
            process = subprocess.Popen([support.binary(), "man", "status"], stdin=slave, stdout=slave, stderr=slave,
                                       env={**os.environ, "PATH": path})
            os.close(slave)
            seen = b""
            while True:
                try:
                    seen += os.read(master, 65536)
                except OSError:  # nobody has it open any more
                    break
            self.assertEqual(process.wait(), 0)
            self.assertRegex(seen.decode(), pattern)

    def test_of_an_option(self):
        for words in (["--nnodes"], ["nnodes"], ["run", "--nnodes"]):
            with self.subTest(words):
                shown = self.toprun("help", *words)
                self.assert_ok(shown)
                self.assertRegex(shown.out, r"\Atoprun[ a-z,]*:\n  --nnodes N\|MIN:MAX  ")
        refused = self.toprun("help", "submit", "--nodez")
        self.assertEqual((refused.code, refused.err),
                         (2, "toprun: help submit --nodez: there is no such option; did you mean --nodes?\n"))

    def test_a_verb_that_there_is_not(self):
        refused = self.toprun("man", "sumbit")
        self.assertEqual((refused.code, refused.err), (2, "toprun: man sumbit: there is no such verb; did you mean submit?\n"))


def shown(text):
    """Of what a terminal gets on one line: colours and bells left out, backspaces done."""
    out = ""
    for character in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07", "", text):
        out = out[:-1] if character == "\b" else out + character
    return out


class Typed(support.TestCase):
    """What becomes of a line in a shell's own terminal. There is a folder logs/, which submit makes."""

    LINES = {"lo\t17": "logs 17", "bench pa\t": "bench pairs", "help topo dr\t": "help topo draw", "lo\t1\t": "logs 17",
             "subw\t": "subway.py", "--container-runtime=py\t": "--container-runtime=pyxis",
             "--topology=nv\t": "--topology=nvlink", "--topology=rack\t": "--topology=racks.txt", "--order file:rack\t": "--order file:racks.txt", "--order=file:rack\t": "--order=file:racks.txt",
             "--fabric=aws\t": "--fabric=aws-efa", "--fabric aws\t": "--fabric aws-efa",
             "bench --backend gl\t": "bench --backend gloo", "bench --backend gloo,n\t": "bench --backend gloo,nccl", "bench --backend=tcp,gl\t": "--backend=tcp,gloo",
             "--nproc_per\t": "--nproc_per_node", "bench --orders topology,h\t": "topology,hostname",
             "--profile debu\t": "--profile debug", "bench --profile=debu\t": "--profile=debug"}
    BEHIND = {"srun -N 2 toprun lo\t17": "toprun logs 17", "mpirun -n 2 toprun bench pa\t": "toprun bench pairs",
              "srun --label /opt/bin/toprun --topology=nv\t": "--topology=nvlink", "srun subw\t": "srun subway.py",
              "sudo toprun docto\t": "sudo toprun doctor"}

    SHELLS = {"bash": (["bash", "--norc", "-i"], ""),
              "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; ")}

    def shell(self, name, folder):
        argv, before = self.SHELLS[name]
        script = folder / f"completion.{name}"
        script.write_text(self.toprun("completion", name).out)
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = subprocess.Popen(
            argv, stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True,
            env={**os.environ, "TERM": "dumb", "HOME": str(folder),
                 "PATH": f"{os.path.dirname(support.binary())}:{os.environ['PATH']}"})
        os.close(slave)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.write(master, f"PS1='> '; {before}source {script}; echo re''ady\n".encode())
        self.read_until(master, "ready")
        return master

    def read_until(self, master, text, limit=30):
        seen, deadline = "", time.monotonic() + limit
        while text not in seen:
            ready, _, _ = select.select([master], [], [], max(0, deadline - time.monotonic()))
            self.assertTrue(ready, f"not shown: {text}\n{seen}")
            seen = shown(seen + os.read(master, 65536).decode(errors="replace"))
        return seen

    def test_the_line_that_a_tab_makes(self):
        folder = self.folder()
        (folder / "logs/17").mkdir(parents=True)
        (folder / "logs/17/n0.out").touch()
        (folder / "subway.py").touch()
        (folder / "racks.txt").touch()
        (folder / "toprun.toml").write_text("[profile.debug]\nnnodes = 1\n")
        lines = {f"toprun {typed}": line for typed, line in self.LINES.items()} | self.BEHIND
        for name in self.SHELLS:
            support.needs_program(name)
            master = self.shell(name, folder)
            for typed, line in lines.items():
                with self.subTest(shell=name, typed=typed):
                    os.write(master, typed.encode())
                    self.assertNotIn("logs/", self.read_until(master, line, limit=10))
                    os.write(master, b"\x15\n")  # the line is taken back

    def test_a_job_is_offered_once(self):
        folder = self.folder()
        for id in "17", "18":
            (folder / "logs" / id).mkdir(parents=True)
            (folder / "logs" / id / "n0.out").touch()
        for before, offered in (([], ["18", "17"]), (["17"], ["18"])):
            found = self.toprun("completion", "--words", "cancel", *before, "", cwd=folder)
            self.assertEqual([line.split("\t")[0] for line in found.out.splitlines()], offered)

    def test_zsh_puts_no_dashes_behind_a_word_without_a_description(self):
        support.needs_program("zsh")
        master = self.shell("zsh", self.folder())
        for typed, last in (("--rdzv-backend ", "static"), ("completion ", "zsh")):
            os.write(master, f"toprun {typed}\t".encode())
            self.assertNotIn("--", self.read_until(master, last).replace("--rdzv-backend", ""))
            os.write(master, b"\x15\n")
        os.write(master, b"toprun s\t")
        self.assertRegex(self.read_until(master, "submit  -- "), r"shell   -- \w+")  # below each other

    def test_no_file_where_only_some_words_fit(self):
        folder = self.folder()
        (folder / "notes.txt").touch()
        for name in self.SHELLS:
            support.needs_program(name)
            master = self.shell(name, folder)
            for typed in "--profile ", "bench --backend nosuch", "--rdzv-backend x":
                with self.subTest(shell=name, typed=typed):
                    os.write(master, f"toprun {typed}\t\t".encode())
                    time.sleep(0.7)
                    os.write(master, b"\x15echo af''ter\n")
                    self.assertNotIn("notes.txt", self.read_until(master, "after"))
        if shutil.which("fish"):
            self.assertEqual(self.fish_offers("toprun --profile ", folder), [])
            self.assertEqual(self.fish_offers("toprun bench --backend tcp,g", folder), ["tcp,gloo"])
            self.assertEqual(self.fish_offers("toprun --nproc_per", folder), ["--nproc_per_node"])

    def test_files_are_offered_only_where_they_fit(self):
        folder = self.folder()
        (folder / "notes").mkdir()
        (folder / "notes.txt").touch()
        (folder / "nightly.json").touch()
        for name in self.SHELLS:
            support.needs_program(name)
            master = self.shell(name, folder)
            for typed, line in (("--log-dir no\t", "--log-dir notes/"), ("--log-dir=no\t", "--log-dir=notes/"),
                                ("--report n\tt\t", "--report n"), ("submit -o notes.\t", "-o notes.txt"),
                                ("status \t", "status nightly.json"), ("report notes.\t", "report notes.txt")):
                with self.subTest(shell=name, typed=typed):
                    os.write(master, f"toprun {typed}".encode())
                    self.read_until(master, line, limit=10)
                    os.write(master, b"\x15\n")
            for typed in "--nproc-per-node n", "logs n", "cancel n", "eta n", "submit -t n", "--rdzv-id n", "bench -b n":
                with self.subTest(shell=name, typed=typed):
                    os.write(master, f"toprun {typed}\t\t".encode())
                    time.sleep(0.7)
                    os.write(master, b"\x15echo af''ter\n")
                    self.assertNotRegex(self.read_until(master, "after"), "notes|nightly")
        if shutil.which("fish"):
            for line, offers in (("--log-dir n", ["notes/"]), ("--log-dir=n", ["--log-dir=notes/"]), ("logs n", []),
                                 ("--nnodes ", []), ("report ", ["nightly.json"]), ("report notes", ["notes/", "notes.txt"])):
                with self.subTest(shell="fish", typed=line):
                    self.assertEqual(sorted(self.fish_offers(f"toprun {line}", folder)), sorted(offers))

    def test_what_fish_offers_behind_a_launcher(self):
        if not shutil.which("fish"):
            self.skipTest("there is no fish here")
        folder = self.folder()
        for line, expected in (("srun -N 2 toprun lo", "logs"), ("srun --label /opt/bin/toprun bench pa", "pairs"),
                               ("mpirun -n 2 toprun --rdzv-b", "--rdzv-backend"), ("srun toprun top", "topo"),
                               ("mpiexec -n 2 toprun --fabric=aw", "--fabric=aws-efa"),
                               ("sudo toprun lo", "logs"), ("srun lo", None), ("srun toprun train.py lo", None), ("srun toprun2 lo", None)):
            with self.subTest(line):
                offers = self.fish_offers(line, folder)
                if expected is None:
                    self.assertNotIn("logs", offers)
                else:
                    self.assertIn(expected, offers)

    def fish_offers(self, line, folder):
        script = self.toprun("completion", "fish").out
        told = subprocess.run(["fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'"], cwd=folder,
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "HOME": str(folder),
                                   "PATH": f"{os.path.dirname(support.binary())}:{os.environ['PATH']}"})
        return [offer.split("\t")[0] for offer in told.stdout.splitlines()]

    def test_what_fish_offers(self):
        if not shutil.which("fish"):
            self.skipTest("there is no fish here")
        folder = self.folder()
        (folder / "logs/17").mkdir(parents=True)
        (folder / "logs/17/n0.out").touch()
        (folder / "10.txt").touch()
        for line, expected, other in (("lo", "logs", "pairs"), ("bench pa", "pairs", "logs/"),
                                      ("help topo dr", "draw", "logs/"), ("10", "10.txt", "17"),
                                      ("status 1", "17", "10.txt"), ("status --js", "--json", "10.txt"),
                                      ("report 10.tx", "10.txt", "17"), ("train.py 1", "10.txt", "17")):
            offers = self.fish_offers(f"toprun {line}", folder)
            self.assertIn(expected, offers)
            self.assertNotIn(other, offers)

    def test_verbs_stand_before_files(self):
        folder = self.folder()
        for name in ("aa.py", "sa.py", "zz.py"):
            (folder / name).touch()
        support.needs_program("zsh")
        master = self.shell("zsh", folder)
        os.write(master, b"toprun s\t")
        seen = self.read_until(master, "sa.py")
        self.assertRegex(seen, r"(?s)submit .*shell .*setup .*status .*stacks .*store .*sa\.py")
        if shutil.which("fish"):
            offers = self.fish_offers("toprun ", folder)
            self.assertLess(offers.index("version"), offers.index("aa.py"))
            self.assertLess(offers.index("submit"), offers.index("cancel"))
            self.assertIn("zz.py", offers)

    def test_a_job_that_left_its_files_is_offered_with_how_it_ended(self):
        folder = self.folder()
        (folder / "logs/16").mkdir(parents=True)
        (folder / "logs/17").mkdir()
        self.toprun("--report", folder / "logs/17/report.json", "--no-python", "false", cwd=folder)
        (folder / "logs" / "train.17.out").touch()
        done = self.toprun("completion", "--words", "status", "1", cwd=folder)
        self.assertRegex(done.out, r"\A17\ttrain, failed: rank 0 on .* exit code 1.*\n\Z")


class Bash(support.TestCase):
    """A real bash that has read the script; what it would offer for a line."""

    def offered(self, line, command="toprun", script=None, cwd=None):
        script = script or self.toprun("completion", "bash").out
        words = re.findall(r"[^\s=]+|=", line)  # as readline splits it
        if line.endswith(" "):
            words.append("")
        path = f"{os.path.dirname(support.binary())}:{os.environ['PATH']}"
        shell = (f"{script}\n"
                 f"COMP_WORDS=({' '.join(shlex.quote(word) for word in words)})\n"
                 f"COMP_CWORD={len(words) - 1}\n_{command} {words[0]} '' ''\n"
                 'printf "%s\\n" "${COMPREPLY[@]}"')
        told = subprocess.run(["bash", "--norc", "-c", shell], capture_output=True, text=True,
                              cwd=cwd or self.folder(), env={**os.environ, "PATH": path})
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        return told.stdout.split()

    def test_what_is_offered(self):
        for line, expected in (
                ("toprun su", ["submit"]),
                ("toprun ru", ["run"]),
                ("toprun topo ", ["show", "order", "draw", "score", "convert"]),
                ("toprun topo order --form", ["--format"]),
                ("toprun --rdzv-b", ["--rdzv-backend"]),
                ("toprun --rdzv-backend ", ["static", "c10d"]),
                ("toprun --rdzv_backend=c", ["c10d"]),
                ("toprun submit --gpus-p", ["--gpus-per-node"]),
                ("toprun run --order n", ["name"]),
                ("toprun submit --order=", ["topology", "name", "scheduler", "given"]),
                ("toprun setup --horovod=m", ["mpi"]),
                ("toprun logs --f", ["--follow"]),
                ("toprun completion z", ["zsh"]),
                ("toprun help sub", ["submit"]),
                ("toprun config show su", ["submit"]),
                ("toprun --nproc-per-node 2 train.py --ep", []),  # the script's own
                ("toprun --log-dir ", []),  # bash's files
                ("toprun --log-dir --x", []),  # its value, whatever it looks like
                ("toprun --numa-binding =", ["node", "socket", "exclusive", "core-complex"]),
                ("toprun tr", []),
                ("toprun s", ["submit", "shell", "setup", "status", "stacks", "store"]),
                ("toprun submit --exclusive u", []),  # its value stands behind = only
                ("toprun submit --exclusive=u", ["user"]),
                ("toprun shell --tee", []),
                ("toprun logs 17 --n", ["--node"]),
                ("toprun --partition", []),
        ):
            with self.subTest(line):
                self.assertEqual(self.offered(line), expected)

    def test_every_verb_is_offered(self):
        self.assertEqual(sorted(self.offered("toprun ")), sorted([*verbs(), "run"]))

    def test_every_long_option_of_a_verbs_help_is_offered(self):
        for verb in ("submit", "jobs", "store", "shell"):
            told = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", self.toprun(verb, "--help").out, re.M))
            self.assertEqual(set(self.offered(f"toprun {verb} --")), told)

    def test_the_first_word_may_be_a_script(self):
        folder = self.folder()
        (folder / "subway.py").write_text("")
        self.assertEqual(self.offered("toprun sub", cwd=folder), ["submit", "subway.py"])

    def test_a_verb_with_verbs_offers_them(self):
        self.assertEqual(self.offered("toprun bench pa"), ["pairs"])
        self.assertEqual(self.offered("toprun help topo "), ["show", "order", "draw", "score", "convert"])
        self.assertEqual(self.offered("toprun help bench co"), ["compare"])
        self.assertIn("--minbytes", self.offered("toprun bench --min"))

    def test_jobs_that_the_engine_has_forgotten(self):
        folder = self.folder()
        for name in ("17", "12_3", "notes"):
            (folder / "logs" / name).mkdir(parents=True)
            (folder / "logs" / name / "n0.out").touch()
        (folder / "logs/18").mkdir()  # of which no verb knows anything
        self.assertEqual(sorted(self.offered("toprun status 1", cwd=folder)), ["12_3", "17"])

    def test_profiles(self):
        folder = self.folder()
        (folder / "toprun.toml").write_text("[profile.debug]\n[profile.deep]\n[profile.long]\n")
        self.assertEqual(self.offered("toprun submit --profile de", cwd=folder), ["debug", "deep"])

    def test_under_torchruns_name(self):
        folder = self.folder()
        torchrun = folder / "torchrun"
        torchrun.symlink_to(support.binary())
        script = subprocess.run([torchrun, "--print-completion", "bash"], capture_output=True,
                                text=True).stdout
        self.assertEqual(self.offered("torchrun --rdzv-backend ", "torchrun", script),
                         ["static", "c10d"])
        self.assertEqual(self.offered("torchrun --hos", "torchrun", script), [])


if __name__ == "__main__":
    unittest.main()
