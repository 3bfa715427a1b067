#include <fmt/format.h>

#include "base/files.h"
#include "stacks/look.h"
#include "stacks/proc.h"
#include "stacks/within.h"

namespace toprun::stacks {
namespace {

constexpr std::size_t most_counted = 4'096;

std::string contents(pid_t pid, const char* name) {
  return read_file(fmt::format("/proc/{}/{}", pid, name)).value_or("");
}

// False: the process is gone.
bool add(Usage& usage, pid_t pid, char& state) {
  const auto stat = parse_stat(contents(pid, "stat"));
  if (!stat) return false;
  state = stat->state;
  usage.cpu_ticks += stat->cpu_ticks;
  usage.faults += stat->minor_faults + stat->major_faults;
  const std::string status = contents(pid, "status");
  usage.voluntary_switches += labelled_number(status, "voluntary_ctxt_switches").value_or(0);
  const std::string io = contents(pid, "io");
  for (const char* name : {"syscr", "syscw"}) {
    usage.syscalls += labelled_number(io, name).value_or(0);
  }
  for (const char* name : {"rchar", "wchar"}) usage.bytes += labelled_number(io, name).value_or(0);
  ++usage.processes;
  return true;
}

std::optional<Usage> usage_of_tree(pid_t pid) {
  Usage out;
  if (!add(out, pid, out.state)) return std::nullopt;
  std::vector<pid_t> found = children_of(pid, most_counted);
  for (std::size_t i = 0; i < found.size(); ++i) {
    char state = '?';
    if (!add(out, found[i], state)) continue;
    for (const pid_t child : children_of(found[i], most_counted - found.size())) {
      found.push_back(child);
    }
  }
  return out;
}

}  // namespace

std::optional<Usage> usage(pid_t pid) {
  const std::function<std::optional<Usage>()> work = [pid] { return usage_of_tree(pid); };
  return within(usage_limit, work).value_or(std::nullopt);
}

}  // namespace toprun::stacks
