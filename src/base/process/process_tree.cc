#include "base/process/process_tree.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::process {
namespace {

// Adds a process's children.
using AddChildren = std::function<void(pid_t parent, std::vector<pid_t>& to)>;

// Reads /proc/PID/task/TID/children (proc(5)), which some kernels do not provide.
void add_listed_children(pid_t pid, std::vector<pid_t>& to) {
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for (const pid_t tid : numbered_entries(tasks)) {
    const auto text = read_file(fmt::format("{}/{}/children", tasks, tid));
    if (!text) continue;
    for (const std::string_view word : words(*text)) {
      if (const auto child = parse_int(word)) to.push_back(static_cast<pid_t>(*child));
    }
  }
}

AddChildren from_all_parents() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : numbered_entries("/proc")) {
    if (const auto parent = parent_of(pid)) children.emplace(*parent, pid);
  }
  return [children = std::move(children)](pid_t parent, std::vector<pid_t>& to) {
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) to.push_back(child->second);
  };
}

AddChildren add_children() {
  static const bool kernel_lists_children =
      ::access(fmt::format("/proc/self/task/{}/children", ::getpid()).c_str(), R_OK) == 0;
  return kernel_lists_children ? AddChildren(add_listed_children) : from_all_parents();
}

}  // namespace

std::vector<pid_t> numbered_entries(const std::string& folder, std::size_t most) {
  std::vector<pid_t> out;
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return out;
  while (const dirent* const entry = ::readdir(dir)) {
    const auto number = parse_int(entry->d_name);
    if (number && out.size() < most) out.push_back(static_cast<pid_t>(*number));
  }
  ::closedir(dir);
  std::ranges::sort(out);
  return out;
}

// The second field of /proc/PID/stat after the name. The name is in parentheses and may itself
// contain any character.
std::optional<pid_t> parent_of(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = words(std::string_view(*stat).substr(name_end + 1));
  const auto parent = fields.size() < 2 ? std::nullopt : parse_int(fields[1]);
  return parent ? std::optional(static_cast<pid_t>(*parent)) : std::nullopt;
}

bool is_copy(pid_t pid, pid_t parent) {
  const auto line = read_file(fmt::format("/proc/{}/cmdline", pid));
  return line && !line->empty() && *line == read_file(fmt::format("/proc/{}/cmdline", parent));
}

std::vector<pid_t> children_of(pid_t pid, std::size_t most) {
  std::vector<pid_t> found;
  add_children()(pid, found);
  if (found.size() > most) found.resize(most);
  return found;
}

std::vector<pid_t> descendants(pid_t root, std::size_t most) {
  return descendants_without(root, {}, most);
}

std::vector<pid_t> descendants_without(pid_t root, std::span<const pid_t> left_out,
                                       std::size_t most) {
  const AddChildren add = add_children();
  std::vector<pid_t> found;
  const auto add_below = [&](pid_t parent) {
    const auto known = std::ssize(found);
    add(parent, found);
    const auto gone = std::remove_if(found.begin() + known, found.end(), [&](pid_t pid) {
      return std::ranges::find(left_out, pid) != left_out.end();
    });
    found.erase(gone, found.end());
  };
  add_below(root);
  for (std::size_t i = 0; i < found.size() && found.size() < most; ++i) add_below(found[i]);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace toprun::process
