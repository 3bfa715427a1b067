#include "machine/stacks/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <climits>
#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/process/command.h"
#include "base/process/process_tree.h"
#include "machine/stacks/find.h"
#include "machine/stacks/proc.h"
#include "machine/stacks/python.h"
#include "machine/stacks/within.h"

namespace toprun::stacks {
namespace {

using Json = nlohmann::json;

int number_in(const Json& object, const char* name) {
  return static_cast<int>(number_at(object, name, INT_MAX).value_or(0));
}

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A process by /proc alone, without its children.
Process seen(pid_t pid) {
  Process out{.pid = pid};
  const std::string folder = fmt::format("/proc/{}/task", pid);
  auto ids = process::numbered_entries(folder, most_threads);
  std::ranges::stable_partition(ids, [&](pid_t id) { return id == pid; });
  for (const pid_t id : ids) {
    const auto stat = parse_stat(contents_of(fmt::format("{}/{}/stat", folder, id)));
    if (!stat) continue;
    Thread thread{.id = id, .state = stat->state, .name = stat->command};
    thread.wchan = contents_of(fmt::format("{}/{}/wchan", folder, id));
    if (thread.wchan == "0") thread.wchan.clear();
    if (id == pid) out.command = stat->command;
    out.threads.push_back(std::move(thread));
  }
  return out;
}

// The kernel's thread ids by those that the process itself sees, in its own namespace.
std::map<int, int> ids_by_inner_id(pid_t pid, const std::vector<int>& ids) {
  std::map<int, int> out;
  const bool same = inner_id(contents_of(fmt::format("/proc/{}/status", pid))).value_or(pid) == pid;
  for (const int id : ids) {
    const auto inner =
        same ? id : inner_id(contents_of(fmt::format("/proc/{}/task/{}/status", pid, id)));
    if (inner) out[*inner] = id;
  }
  return out;
}

// What the memory of a process says.
struct Read {
  StacksByThread stacks;
  std::string why;       // none could be read
  bool foreign = false;  // but py-spy may know it
};

Read read_stacks(pid_t pid, const std::vector<int>& ids) {
  ForeignMemory memory(pid);
  Search search = find_python_of(pid, memory);
  if (!search.python) return {{}, std::move(search.why), search.foreign};
  Python& python = *search.python;
  const auto threads = python.threads(memory);
  if (threads.empty()) return {{}, "its Python has not started yet or has ended", false};

  const auto by_inner = ids_by_inner_id(pid, ids);
  std::vector<int> inner(threads.size());
  std::ranges::transform(threads, inner.begin(), &PythonThread::native_id);
  if (python.layout().native_id == Layout::absent) {
    std::vector<int> known;
    for (const auto& [id, outer] : by_inner) known.push_back(id);
    inner = native_ids(memory, threads, known);
  }
  Read out;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const auto id = by_inner.find(inner[i]);
    if (id == by_inner.end()) continue;
    auto stack = python.stack(memory, threads[i]);
    // A thread that runs in several interpreters stands in one of them.
    if (stack && !stack->empty()) out.stacks[id->second] = std::move(*stack);
  }
  return out;
}

void add_stacks(Process& process, StacksByThread stacks) {
  for (Thread& thread : process.threads) {
    if (const auto found = stacks.find(thread.id); found != stacks.end()) {
      thread.python = std::move(found->second);
    }
  }
}

class Inspection {
 public:
  explicit Inspection(const Environment& environment) : environment_(environment) {}

  Process at(pid_t pid) {
    const std::function<Process()> work = [pid] { return seen(pid); };
    Process out = within(left(), work).value_or(Process{.pid = pid});
    if (out.threads.empty()) return out;
    add_python(out);
    const std::function<std::vector<pid_t>()> children = [pid] {
      return process::children_of(pid, most_processes);
    };
    for (const pid_t child : within(left(), children).value_or(std::vector<pid_t>())) {
      if (++processes_ >= most_processes) break;
      Process below = at(child);
      if (!below.command.empty()) out.children.push_back(std::move(below));
    }
    return out;
  }

 private:
  milliseconds left() const {
    return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(end_ - Clock::now()));
  }

  void add_python(Process& process) {
    std::vector<int> ids;
    for (const Thread& thread : process.threads) ids.push_back(thread.id);
    const pid_t pid = process.pid;
    const std::function<Read()> work = [pid, ids] { return read_stacks(pid, ids); };
    auto read = within(std::min(memory_limit, left()), work);
    if (!read) {
      process.no_python = "its memory did not answer in time";
      return;
    }
    process.no_python = std::move(read->why);
    if (read->foreign) ask(process, read->stacks);
    add_stacks(process, std::move(read->stacks));
  }

  void ask(Process& process, StacksByThread& stacks) {
    if (!process::find_program("py-spy", environment_)) {
      process.no_python += "; perhaps py-spy supports this Python: install py-spy";
      return;
    }
    auto answer = ask_spy(process.pid, environment_, left());
    if (answer) {
      stacks = std::move(*answer);
      process.no_python.clear();
    } else {
      process.no_python += "; " + answer.error().line();
    }
  }

  const Environment& environment_;
  Clock::time_point end_ = Clock::now() + look_limit;
  std::size_t processes_ = 0;
};

}  // namespace

Result<StacksByThread> parse_spy(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_array()) return fail("the output of py-spy is not a list of threads");
  StacksByThread out;
  for (const Json& thread : document) {
    if (!thread.is_object() || out.size() == most_python_threads) continue;
    const int id = number_in(thread, "os_thread_id");
    const Json& frames = member(thread, "frames");
    if (id == 0 || !frames.is_array()) continue;
    for (const Json& frame : frames) {
      if (!frame.is_object() || out[id].size() == most_frames) continue;
      out[id].push_back(
          {text_at(frame, "name"), text_at(frame, "filename"), number_in(frame, "line")});
    }
  }
  return out;
}

Result<StacksByThread> ask_spy(pid_t pid, const Environment& environment,
                               std::chrono::milliseconds limit) {
  const auto answer = TRY(process::output_of(
      {"py-spy", "dump", "--nonblocking", "--json", "--pid", fmt::format("{}", pid)}, environment,
      limit));
  return parse_spy(answer);
}

Process inspect(pid_t pid, const Environment& environment) {
  return Inspection(environment).at(pid);
}

struct Reader::Impl {
  explicit Impl(pid_t process) : pid(process), memory(process) {}

  const pid_t pid;
  std::mutex mutex;  // held while a thread reads
  ForeignMemory memory;
  std::optional<Python> python;
  int inner_id = 0;

  std::string what() const {
    return fmt::format("cannot read the Python stack of process {}", pid);
  }

  Result<void> find() {
    auto search = find_python_of(pid, memory);
    if (!search.python) {
      return fail(what(), search.why.empty() ? "this process does not run CPython" : search.why);
    }
    python = std::move(search.python);
    inner_id = stacks::inner_id(contents_of(fmt::format("/proc/{}/status", pid))).value_or(pid);
    return {};
  }

  Result<std::vector<Frame>> read() {
    const auto threads = python->threads(memory);
    const auto thread = python->main_thread(memory, threads, inner_id);
    if (!thread) return fail(what(), "its Python process has ended");
    auto stack = python->stack(memory, *thread);
    if (!stack) return fail(what(), "its stack changed while toprun read it");
    return std::move(*stack);
  }
};

Result<Reader> Reader::open(pid_t pid) {
  const auto impl = std::make_shared<Impl>(pid);
  const std::function<Result<void>()> work = [impl] {
    const std::lock_guard lock(impl->mutex);
    return impl->find();
  };
  auto found = within(memory_limit, work);
  if (!found) return fail(impl->what(), "its memory did not answer in time");
  if (!*found) return std::unexpected(found->error());
  return Reader(impl);
}

Result<std::vector<Frame>> Reader::main_stack() {
  const std::function<Result<std::vector<Frame>>()> work =
      [impl = impl_]() -> Result<std::vector<Frame>> {
    const std::unique_lock lock(impl->mutex, std::try_to_lock);
    if (!lock) return fail(impl->what(), "the previous read of its stacks has not ended yet");
    return impl->read();
  };
  auto stack = within(memory_limit, work);
  if (!stack) return fail(impl_->what(), "its memory did not answer in time");
  return std::move(*stack);
}

std::optional<bool> Reader::is_locked() {
  const std::function<std::optional<bool>()> work = [impl = impl_]() -> std::optional<bool> {
    const std::unique_lock lock(impl->mutex, std::try_to_lock);
    return lock ? impl->python->is_locked(impl->memory) : std::nullopt;
  };
  return within(memory_limit, work).value_or(std::nullopt);
}

}  // namespace toprun::stacks
