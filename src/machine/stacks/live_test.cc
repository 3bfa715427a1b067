// Real Pythons, each compared with what faulthandler writes of itself: python3 of PATH, and those
// that TOPRUN_TEST_PYTHONS names, separated by colons.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "machine/stacks/inspect.h"
#include "machine/stacks/proc.h"
#include "machine/stacks/stacks_testing.h"

namespace toprun::stacks {
namespace {

using namespace std::chrono_literals;

// SIGUSR1 lets faulthandler write the stacks of all threads from a signal handler in C.
constexpr const char* head = R"(
import faulthandler, os, signal, sys, threading, time
folder = sys.argv[1]
dump = open(folder + "/dump", "w")
faulthandler.register(signal.SIGUSR1, dump, all_threads=True)
def ready():
    open(folder + "/ready", "w").close()
)";

struct Case {
  const char* name;
  const char* script;
  int threads = 1;  // that run Python
};

const Case cases[] = {
    {"sleep", "def f():\n    ready()\n    time.sleep(\n        1000)\nf()\n"},
    {"lock", "lock = threading.Lock()\nlock.acquire()\nready()\nlock.acquire()\n"},
    {"pipe", "r, w = os.pipe()\nready()\nos.read(r, 1)\n"},
    {"socket",
     "import socket\na, b = socket.socketpair()\n\ndef f(n):\n    if n: f(n - 1)\n    else:\n"
     "        ready()\n        a.recv(1)\nf(3)\n"},
    {"loop", "def f():\n    ready()\n    while True: pass\nf()\n"},
    {"loop in C with the lock held",
     "import re\ndef f():\n    ready()\n    re.match('(a+)+b', 'a' * 60)\nf()\n"},
    {"generator",
     "def inner():\n    yield 1\n    ready()\n    time.sleep(1000)\n    yield 2\n"
     "def outer():\n    yield from inner()\nfor x in outer():\n    pass\n"},
    {"coroutine",
     "import asyncio\nasync def inner():\n    await asyncio.sleep(0)\n    ready()\n"
     "    time.sleep(1000)\nasync def outer():\n    await inner()\nasyncio.run(outer())\n"},
    {"idle event loop",
     "import asyncio\nasync def f():\n    asyncio.get_running_loop().call_later(0.01, ready)\n"
     "    await asyncio.sleep(1000)\nasyncio.run(f())\n"},
    {"threads",
     "n = 0\ndef f(s):\n    def g():\n        s.release()\n        time.sleep(1000)\n    g()\n"
     "s = threading.Semaphore(0)\nfor i in range(5):\n"
     "    threading.Thread(target=f, args=(s,), daemon=True).start()\nfor i in range(5):\n"
     "    s.acquire()\ntime.sleep(0.05)\nready()\ntime.sleep(1000)\n",
     6},
    {"deep recursion",
     "sys.setrecursionlimit(10000)\ndef f(n):\n    if n == 0:\n        ready()\n"
     "        time.sleep(1000)\n    f(n - 1)\nf(1500)\n"},
    {"called back from C",
     "class A:\n    def key(self, x):\n        ready()\n        time.sleep(1000)\n"
     "    def sort(self):\n        return sorted([3, 1, 2],\n                      key=self.key)\n"
     "list(map(lambda a: a.sort(), [A()]))\n"},
    {"names of other scripts",
     "def gr\u00f6\u00dfe():\n    exec(compile('\\n' * 300 + 'ready()\\ntime.sleep(1000)', "
     "'\U0001f600\u00e9.py', 'exec'))\ndef \u6f22\u5b57():\n    "
     "gr\u00f6\u00dfe()\n\u6f22\u5b57()\n"},
    {"while a module is imported",
     "with open(folder + '/slow.py', 'w') as f:\n"
     "    f.write('import time, __main__\\n__main__.ready()\\ntime.sleep(1000)\\n')\n"
     "sys.path.insert(0, folder)\nimport slow\n"},
    {"class body, comprehension, with, finally, lines that are far apart",
     "class Manager:\n    def __enter__(self): pass\n    def __exit__(self, *args):\n"
     "        [self.stop(x) for x in (1,)]\n    def stop(self, x):\n        try:\n"
     "            1 / 0\n        except ZeroDivisionError:\n            (lambda: self.last())()\n"
     "    def last(self):\n        class Body:\n            ready()\n            time.sleep(1000)\n"
     "src = 'def f():' + '\\n' * 70000 + '  with Manager():\\n    pass\\nf()'\n"
     "exec(compile(src, 'far.py', 'exec'))\n"},
    {"at exit", "import atexit\ndef f():\n    ready()\n    time.sleep(1000)\natexit.register(f)\n"},
};

const Case& row(std::string_view name) {
  return *std::ranges::find(cases, name, &Case::name);
}

std::vector<std::string> pythons() {
  const Environment environment = Environment::from(environ);
  std::vector<std::string> out;
  if (const auto python = process::find_program("python3", environment)) out.push_back(*python);
  const std::string more = environment.get("TOPRUN_TEST_PYTHONS").value_or("");
  for (const std::string_view name : split(more, ':')) {
    if (!name.empty()) out.emplace_back(name);
  }
  return out;
}

bool appears(const std::filesystem::path& file) {
  for (int i = 0; i < 3'000; ++i) {
    if (std::filesystem::exists(file)) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

std::optional<Usage> used_by(pid_t pid) {
  return in_time([&] { return usage(pid); }, [](const auto& used) { return !used; });
}
bool came_too_late(const Process& process) {
  return process.no_python == "its memory did not answer in time" ||
         std::ranges::any_of(process.children, came_too_late);
}
Process found_at(pid_t pid) {
  return in_time([&] { return inspect(pid); }, came_too_late);
}
Result<std::vector<Frame>> main_stack_of(pid_t pid) {
  const auto read = [&]() -> Result<std::vector<Frame>> {
    auto reader = Reader::open(pid);
    if (!reader) return std::unexpected(reader.error());
    return reader->main_stack();
  };
  return in_time(read, [](const auto& stack) { return !stack; });
}

// A Python that runs a script until the test ends.
class Script {
 public:
  // `before` is a command that starts it.
  Script(const std::string& python, const std::string& text, std::vector<std::string> before = {}) {
    const std::string file = folder_.path() / "script.py";
    std::ofstream(file) << head << text;
    auto argv = std::move(before);
    argv.insert(argv.end(), {python, "-B", file, folder_.path().string()});
    const auto started =
        process::start(argv[0], argv, Environment::from(environ), {.own_group = true});
    pid_ = started ? *started : 0;
  }
  ~Script() { end(); }
  void end() {
    if (pid_ == 0) return;
    process::signal_command(pid_, SIGKILL);  // its children too
    process::await_end(std::exchange(pid_, 0));
  }

  pid_t pid() const { return pid_; }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  bool is_ready() const { return pid_ != 0 && appears(file("ready")); }

  // Waits until a process does not run: it is in the call that its script makes after ready().
  static bool sleeps(pid_t pid, char state = 'S') {
    for (int i = 0; i < 1'000; ++i) {
      const auto used = usage(pid);
      if (used && used->state == state) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  // What faulthandler writes, which comes piece by piece: at least as much as `expected`, until
  // nothing is added.
  std::string dump(pid_t pid, const std::string& expected) const {
    process::signal_process(pid, SIGUSR1);
    const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
    std::string text;
    for (int i = 0, unchanged = 0; i < 1'000 && unchanged < 10; ++i) {
      std::this_thread::sleep_for(10ms);
      const std::string now = read_file(file("dump")).value_or("");
      const bool is_whole = now.ends_with('\n') && lines(now) > lines(expected);
      unchanged = now == text && is_whole ? unchanged + 1 : 0;
      text = now;
    }
    return text;
  }

 private:
  TemporaryFolder folder_;
  pid_t pid_ = 0;
};

// The character as faulthandler writes it: ASCII or \xNN, \uNNNN, \UNNNNNNNN.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    text.remove_prefix(character.bytes.size());
    const auto code = static_cast<std::uint32_t>(character.code);
    if (code >= 0x10000) {
      out += fmt::format("\\U{:08x}", code);
    } else if (code >= 0x100) {
      out += fmt::format("\\u{:04x}", code);
    } else if (code >= 0x7f || code < 0x20) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += static_cast<char>(code);
    }
  }
  return out;
}

// A stack in the form of faulthandler, whose own ends after 100 functions.
std::string written(const std::vector<Frame>& stack) {
  constexpr std::size_t most = 100;
  std::string out;
  for (std::size_t i = 0; i < stack.size() && i < most; ++i) {
    const Frame& frame = stack[i];
    out +=
        fmt::format("  File \"{}\", line {} in {}\n", escaped(frame.file),
                    frame.line == 0 ? "???" : std::to_string(frame.line), escaped(frame.function));
  }
  return out;
}

// The stacks of a dump of faulthandler in the order of their texts, without the lines that name the
// threads.
std::string stacks_in(const std::string& dump) {
  std::multiset<std::string> stacks;
  std::string stack;
  const std::string text = dump + "\nThread";
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("  File")) {
      stack += std::string(line) + "\n";
    } else if (line.find("hread") != std::string_view::npos && !stack.empty()) {
      stacks.insert(std::exchange(stack, ""));
    }
  }
  return fmt::format("{}", fmt::join(stacks, ""));
}

std::string stacks_in(const Process& process) {
  std::multiset<std::string> stacks;
  for (const Thread& thread : process.threads) {
    if (!thread.python.empty()) stacks.insert(written(thread.python));
  }
  return fmt::format("{}", fmt::join(stacks, ""));
}

std::ptrdiff_t threads_with_python(const Process& process) {
  return std::ranges::count_if(process.threads,
                               [](const Thread& thread) { return !thread.python.empty(); });
}

class LiveProcess : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().empty()) GTEST_SKIP() << "no python3 in PATH";
    if (emulated()) GTEST_SKIP() << "an emulator does not read another process's memory";
  }
};
std::vector<std::string> pythons_or_none() {
  auto found = pythons();
  return found.empty() ? std::vector<std::string>{""} : found;
}
INSTANTIATE_TEST_SUITE_P(Pythons, LiveProcess, ::testing::ValuesIn(pythons_or_none()));

TEST_P(LiveProcess, ShowsWhatFaulthandlerWrites) {
  for (const Case& item : cases) {
    SCOPED_TRACE(item.name);
    const Script script(GetParam(), item.script);
    ASSERT_TRUE(script.is_ready());
    const bool runs = std::string_view(item.name).starts_with("loop");
    ASSERT_TRUE(script.sleeps(script.pid(), runs ? 'R' : 'S'));
    const Process process = found_at(script.pid());
    EXPECT_EQ(process.no_python, "");
    ASSERT_FALSE(process.threads.empty());
    EXPECT_EQ(process.threads[0].id, script.pid());

    const auto main_stack = main_stack_of(script.pid());
    ASSERT_TRUE(main_stack) << main_stack.error().line();
    EXPECT_EQ(*main_stack, process.threads[0].python);

    const std::string shown = stacks_in(process);
    EXPECT_EQ(shown, stacks_in(script.dump(script.pid(), shown)));
    EXPECT_EQ(threads_with_python(process), item.threads);
  }
}

TEST_P(LiveProcess, ShowsAStoppedProcess) {
  const Script script(GetParam(), "def f():\n    ready()\n    time.sleep(1000)\nf()\n");
  ASSERT_TRUE(script.is_ready());
  ASSERT_TRUE(script.sleeps(script.pid()));
  process::signal_process(script.pid(), SIGSTOP);
  ASSERT_TRUE(script.sleeps(script.pid(), 'T'));
  const auto before = pulse(script.pid());
  ASSERT_TRUE(before);
  const Process process = found_at(script.pid());
  EXPECT_EQ(process.threads[0].state, 'T');
  EXPECT_EQ(pulse(script.pid()), before);  // nothing has woken it
  process::signal_process(script.pid(), SIGCONT);
  const std::string shown = stacks_in(process);
  EXPECT_EQ(shown, stacks_in(script.dump(script.pid(), shown)));
  EXPECT_EQ(threads_with_python(process), 1);
}

TEST_P(LiveProcess, ShowsAProcessThatADebuggerHolds) {
  const Script script(GetParam(), "def f():\n    ready()\n    time.sleep(1000)\nf()\n");
  ASSERT_TRUE(script.is_ready());
  ASSERT_TRUE(script.sleeps(script.pid()));
  ASSERT_EQ(::ptrace(PTRACE_ATTACH, script.pid(), nullptr, nullptr), 0);
  ASSERT_TRUE(script.sleeps(script.pid(), 't'));
  const Process process = found_at(script.pid());
  EXPECT_EQ(process.threads[0].state, 't');
  EXPECT_EQ(threads_with_python(process), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(script.pid(), &status, __WALL), script.pid());
  ASSERT_EQ(::ptrace(PTRACE_DETACH, script.pid(), nullptr, nullptr), 0);
  const std::string shown = stacks_in(process);
  EXPECT_EQ(shown, stacks_in(script.dump(script.pid(), shown)));
}

// posix_spawn() waits like vfork() until its child has begun a program, and this child first opens
// a pipe without a writer: state D, with Python's lock held.
TEST_P(LiveProcess, ShowsAProcessThatTheKernelHolds) {
  const Script script(GetParam(),
                      "os.mkfifo(folder + '/fifo')\ndef f():\n    ready()\n"
                      "    os.posix_spawn('/bin/true', ['true'], {}, file_actions=[\n"
                      "        (os.POSIX_SPAWN_OPEN, 0, folder + '/fifo', os.O_RDONLY, 0)])\n"
                      "f()\n");
  ASSERT_TRUE(script.is_ready());
  ASSERT_TRUE(script.sleeps(script.pid(), 'D'));
  const Process process = found_at(script.pid());
  EXPECT_EQ(process.threads[0].state, 'D');
  ASSERT_EQ(process.children.size(), 1u);
  const auto& stack = process.threads[0].python;
  ASSERT_EQ(stack.size(), 2u) << process.no_python;
  EXPECT_EQ(stack[0].function, "f");
  EXPECT_EQ(stack[1].function, "<module>");
  const pid_t child = process.children[0].pid;
  process::signal_process(child, SIGKILL);
}

TEST_P(LiveProcess, ShowsForkedChildren) {
  const Script script(GetParam(),
                      "import multiprocessing\ndef child():\n    ready()\n    time.sleep(1000)\n"
                      "p = multiprocessing.get_context('fork').Process(target=child)\n"
                      "p.start()\np.join()\n");
  ASSERT_TRUE(script.is_ready());
  const Process process = found_at(script.pid());
  ASSERT_EQ(process.children.size(), 1u);
  const Process& child = process.children[0];
  ASSERT_TRUE(script.sleeps(child.pid));
  const Process again = found_at(child.pid);
  const std::string shown = stacks_in(again);
  EXPECT_EQ(shown, stacks_in(script.dump(child.pid, shown)));
  ASSERT_FALSE(again.threads[0].python.empty());
  EXPECT_EQ(again.threads[0].python[0].function, "child");
  const auto used = used_by(script.pid());
  ASSERT_TRUE(used);
  EXPECT_EQ(used->processes, 2);

  const auto main_stack = main_stack_of(child.pid);
  ASSERT_TRUE(main_stack) << main_stack.error().line();
  EXPECT_EQ(*main_stack, again.threads[0].python);
}

TEST_P(LiveProcess, ShowsProcessesOfAnotherNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const Script script(GetParam(), row("threads").script,
                      {"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "--kill-child"});
  ASSERT_TRUE(script.is_ready());
  Process process = found_at(script.pid());
  while (!process.children.empty()) process = Process(process.children[0]);
  ASSERT_TRUE(script.sleeps(process.pid));
  process = found_at(process.pid);
  const std::string shown = stacks_in(process);
  EXPECT_EQ(shown, stacks_in(script.dump(process.pid, shown)));
  EXPECT_EQ(threads_with_python(process), 6);
  const auto main_stack = main_stack_of(process.pid);
  ASSERT_TRUE(main_stack) << main_stack.error().line();
  EXPECT_EQ(*main_stack, process.threads[0].python);
}

TEST_P(LiveProcess, SaysWhyItMayNotLook) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const Script script(GetParam(), "ready()\ntime.sleep(1000)\n");
  ASSERT_TRUE(script.is_ready());
  const pid_t other = ::fork();
  if (other == 0) {
    constexpr uid_t nobody = 65'534;
    if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) ::_exit(1);
    const Process process = found_at(script.pid());
    const auto reader = Reader::open(script.pid());
    const bool said =
        process.no_python == "its memory may not be read: it runs as another user (0)" &&
        process.threads.size() == 1 && process.threads[0].python.empty() && !reader;
    ::_exit(said ? 0 : 1);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
}

// Reads while functions begin and end: what is given is a stack that the program can have had.
TEST_P(LiveProcess, IsPlausibleWhileEverythingChanges) {
  const Script script(
      GetParam(),
      "import random\nready()\nchoose = random.Random(1).random\n"
      "def a(n):\n    if n > 30: return\n    a(n + 1) if choose() < .6 else b(n + 1)\n"
      "def b(n):\n    if n > 30: return\n    if choose() < .5: c(n + 1)\n"
      "    else: a(n + 1)\n"
      "def c(n):\n    for i in sorted(range(2), key=lambda x: choose()):\n"
      "        if choose() < .4: a(n + 1)\n"
      "while True: a(0)\n");
  ASSERT_TRUE(script.is_ready());
  auto reader = Reader::open(script.pid());
  ASSERT_TRUE(reader) << reader.error().line();
  // The lines of each function, after those of `head`. A jump back to a loop's head has none.
  const int first = static_cast<int>(std::ranges::count(std::string_view(head), '\n'));
  const std::map<std::string, std::pair<int, int>> lines = {{"a", {4, 6}},
                                                            {"b", {7, 10}},
                                                            {"c", {11, 13}},
                                                            {"<lambda>", {12, 12}},
                                                            {"<module>", {2, 14}}};
  const int reads = tried(10'000);
  int answers = 0;
  int plausible = 0;
  for (int i = 0; i < reads; ++i) {
    const auto stack = reader->main_stack();
    if (!stack) continue;
    ++answers;
    if (stack->empty() || stack->back().function != "<module>") continue;
    plausible += std::ranges::all_of(*stack, [&](const Frame& frame) {
      const auto known = lines.find(frame.function);
      return known != lines.end() && frame.file == script.file("script.py") &&
             (frame.line == 0 || (frame.line >= first + known->second.first &&
                                  frame.line <= first + known->second.second));
    });
  }
  EXPECT_GE(answers, reads * 8 / 10);
  EXPECT_GE(plausible, answers * 99 / 100);
}

TEST_P(LiveProcess, CountsWhatAProcessUses) {
  const Script script(GetParam(), "ready()\nwhile True: os.stat('/')\n");
  ASSERT_TRUE(script.is_ready());
  const auto before = used_by(script.pid());
  const auto pulse_before = pulse(script.pid());
  ASSERT_TRUE(before && pulse_before);
  auto after = before;
  for (int i = 0; i < 1'000 && after->main_cpu == before->main_cpu; ++i) {
    std::this_thread::sleep_for(10ms);
    after = used_by(script.pid());
    ASSERT_TRUE(after);
  }
  EXPECT_GT(after->main_cpu, before->main_cpu);
  EXPECT_GE(after->cpu, after->main_cpu);
  EXPECT_EQ(after->child_cpu, 0ns);
  EXPECT_GT(before->main_bytes, 0u);
  EXPECT_GT(before->main_faults, 0u);
  EXPECT_EQ(after->state, 'R');
  EXPECT_GT(pulse(script.pid())->cpu, pulse_before->cpu);
}

// In clock ticks, the other threads of a busy process would seem to run for 10 ms now and then.
TEST_P(LiveProcess, KnowsThatItsOtherThreadsDoNotRun) {
  const Script script(GetParam(), "ready()\nwhile True: os.stat('/'); time.sleep(0.0001)\n");
  ASSERT_TRUE(script.is_ready());
  std::vector<std::chrono::nanoseconds> others;
  for (int i = 0; i < 200; ++i) {
    const auto used = used_by(script.pid());
    ASSERT_TRUE(used);
    others.push_back(used->cpu - used->main_cpu);
    std::this_thread::sleep_for(5ms);
  }
  const auto [least, most] = std::ranges::minmax(others);
  EXPECT_LT(most - least, 10ms);
}

// Two that share one CPU work all the time, though each runs for half of it.
TEST_P(LiveProcess, CountsThatChildrenWaitForACpu) {
  const Script script(GetParam(),
                      "import subprocess, sys\n"
                      "child = '''import os\n"
                      "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
                      "parent = os.getppid()\n"
                      "while os.getppid() == parent: pass'''\n"
                      "both = [subprocess.Popen([sys.executable, '-c', child]) for _ in range(2)]\n"
                      "time.sleep(1)\n"
                      "ready()\ntime.sleep(1000)\n");
  ASSERT_TRUE(script.is_ready());
  const auto began = std::chrono::steady_clock::now();
  const auto before = used_by(script.pid());
  std::this_thread::sleep_for(1s);
  const auto after = used_by(script.pid());
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->processes, 3);
  EXPECT_GT(after->child_cpu - before->child_cpu, (std::chrono::steady_clock::now() - began) * 1.4);
}

// In C that lets the lock go it is free, in Python it is held.
TEST_P(LiveProcess, KnowsWhoHasPythonsLock) {
  const Script sleeps(GetParam(), "ready()\ntime.sleep(1000)\n");
  const Script spins(GetParam(), "ready()\nwhile True: pass\n");
  ASSERT_TRUE(sleeps.is_ready() && spins.is_ready());
  ASSERT_TRUE(sleeps.sleeps(sleeps.pid()));
  EXPECT_EQ(Reader::open(sleeps.pid())->is_locked(), false);
  auto reader = Reader::open(spins.pid());
  ASSERT_TRUE(reader);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(reader->is_locked(), true);
}

TEST_P(LiveProcess, SurvivesTheEndOfAProcess) {
  Script script(GetParam(), "ready()\ntime.sleep(1000)\n");
  ASSERT_TRUE(script.is_ready());
  auto reader = Reader::open(script.pid());
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->main_stack());
  const pid_t pid = script.pid();
  process::signal_process(pid, SIGKILL);
  ASSERT_TRUE(script.sleeps(pid, 'Z'));
  EXPECT_FALSE(reader->main_stack());
  const Process zombie = inspect(pid);
  ASSERT_EQ(zombie.threads.size(), 1u);
  EXPECT_EQ(zombie.threads[0].state, 'Z');
  EXPECT_EQ(zombie.no_python, "");
  EXPECT_FALSE(Reader::open(pid));
  script.end();
  EXPECT_FALSE(reader->main_stack());
  EXPECT_TRUE(inspect(pid).threads.empty());
  EXPECT_FALSE(usage(pid));
  EXPECT_FALSE(pulse(pid));
  EXPECT_FALSE(Reader::open(pid));
}

TEST_P(LiveProcess, SurvivesAllMomentsOfAProcess) {
  for (int i = 0; i < 10; ++i) {
    const auto started = process::start(GetParam(), {GetParam(), "-c", "import json, threading"},
                                        Environment::from(environ), {});
    ASSERT_TRUE(started);
    for (char state = '?'; state != 'Z';) {
      const Process process = inspect(*started);
      ASSERT_FALSE(process.threads.empty());
      state = process.threads[0].state;
      for (const Frame& frame : process.threads[0].python) EXPECT_FALSE(frame.file.empty());
    }
    process::await_end(*started);
  }
}

// A Python that is unknown here, and a py-spy that knows it.
TEST(Look, AsksPySpy) {
  if (emulated()) GTEST_SKIP() << "an emulator does not read another process's memory";
  const TemporaryFolder folder;
  const std::string pypy = folder.path() / "pypy3";
  std::filesystem::copy_file("/bin/sleep", pypy);
  const auto started = process::start(pypy, {pypy, "1000"}, {}, {});
  ASSERT_TRUE(started);
  ASSERT_TRUE(Script::sleeps(*started));
  const Environment without{{"PATH", folder.path().string()}};
  EXPECT_EQ(inspect(*started, without).no_python,
            "pypy3 is not a CPython 3.8 or newer that could be recognized; perhaps py-spy supports "
            "this Python: install py-spy");

  const std::string spy = folder.path() / "py-spy";
  std::ofstream(spy) << "#!/bin/sh\necho '[{\"os_thread_id\": '$5', \"frames\": [{\"name\": \"f\", "
                        "\"filename\": \"a.py\", \"line\": 7}]}]'\n";
  std::filesystem::permissions(spy, std::filesystem::perms::owner_all);
  const Process process = inspect(*started, without);
  EXPECT_EQ(process.no_python, "");
  ASSERT_EQ(process.threads.size(), 1u);
  EXPECT_EQ(process.threads[0].python, (std::vector<Frame>{{"f", "a.py", 7}}));

  std::ofstream(spy) << "#!/bin/sh\necho 'Unsupported version of Python' >&2; exit 1\n";
  const std::string why = inspect(*started, without).no_python;
  EXPECT_NE(why.find("Unsupported version of Python"), std::string::npos) << why;
  process::signal_process(*started, SIGKILL);
  process::await_end(*started);
}

TEST(Look, ShowsOtherProgramsToo) {
  if (emulated()) GTEST_SKIP() << "an emulator does not read another process's memory";
  const auto started = process::start("/bin/sh", {"sh", "-c", "sleep 1000; :"}, {}, {});
  ASSERT_TRUE(started);
  Process process;
  for (int i = 0; i < 1'000 && process.children.empty(); ++i) process = inspect(*started);
  ASSERT_EQ(process.children.size(), 1u);
  EXPECT_EQ(process.command, "sh");
  EXPECT_EQ(process.no_python, "");
  EXPECT_TRUE(Script::sleeps(process.children[0].pid));
  EXPECT_FALSE(Reader::open(*started));
  process::signal_process(process.children[0].pid, SIGKILL);
  process::await_end(*started);
}

}  // namespace
}  // namespace toprun::stacks
