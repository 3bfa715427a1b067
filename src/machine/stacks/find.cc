#include "machine/stacks/find.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/os/files.h"
#include "base/text/text.h"
#include "machine/stacks/memory.h"
#include "machine/stacks/proc.h"

namespace toprun::stacks {
namespace {

constexpr const char* runtime_symbol = "_PyRuntime";
constexpr const char* version_symbol = "Py_Version";  // from 3.11 on
constexpr Address most_searched_bytes = 32u << 20;    // of an image's data

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// A program or library that is mapped.
struct Image {
  Address base = 0;
  std::string path;
  std::vector<Mapping> data;
};

bool may_hold_python(std::string_view path, std::string_view program) {
  const std::string_view name = base_name(path);
  return path == program || name.starts_with("libpython") || name.starts_with("python");
}

std::vector<Image> images_of(std::span<const Mapping> mappings, std::string_view program) {
  std::vector<Image> out;
  for (const Mapping& mapping : mappings) {
    if (!may_hold_python(mapping.path, program)) continue;
    if (mapping.offset == 0 && (out.empty() || out.back().path != mapping.path)) {
      out.push_back({mapping.start, mapping.path, {}});
    }
    if (!out.empty() && out.back().path == mapping.path && mapping.writable) {
      out.back().data.push_back(mapping);
    }
  }
  return out;
}

// Where a runtime that describes itself begins in an image that exports no symbols.
std::optional<Address> search_description(Memory& memory, const Image& image) {
  constexpr std::size_t step_bytes = 64u << 10;
  std::vector<std::byte> step(step_bytes);
  for (const Mapping& data : image.data) {
    const Address end = std::min(data.end, data.start + most_searched_bytes);
    for (Address at = data.start; at < end; at += step_bytes - 16) {
      const auto bytes = std::span(step).first(std::min<Address>(step_bytes, end - at));
      if (!memory.read(at, bytes)) break;
      for (std::size_t i = 0; i + 16 <= bytes.size(); i += 8) {
        if (described_minor(bytes.subspan(i)) != 0) return at + i;
      }
    }
  }
  return std::nullopt;
}

// The minor version of an interpreter that does not describe itself.
int older_minor(Memory& memory, const Image& image, std::span<const Mapping> mappings) {
  if (const auto symbol = exported(memory, image.base, version_symbol)) {
    const auto version = memory.get<std::uint64_t>(*symbol).value_or(0);
    if (version >> 24 == 3) return static_cast<int>(version >> 16 & 0xff);
  }
  if (const int minor = minor_in_name(image.path)) return minor;
  for (const Mapping& mapping : mappings) {
    if (const int minor = minor_in_name(mapping.path)) return minor;
  }
  return 0;
}

struct Known {
  std::optional<Layout> layout;
  int minor = 0;  // 0: unknown
};

Known layout_at(Memory& memory, Address runtime, const Image& image,
                std::span<const Mapping> mappings) {
  std::array<std::byte, description_bytes> head;
  if (!memory.read(runtime, head)) return {};
  if (describes_itself(head)) return {described_layout(head), described_minor(head)};
  const int minor = older_minor(memory, image, mappings);
  return {fixed_layout(minor), minor};
}

}  // namespace

int minor_in_name(std::string_view path) {
  const std::string_view name = base_name(path);
  for (const std::string_view before : {"libpython3.", "python3.", ".cpython-3"}) {
    std::size_t at = name.find(before);
    if (at == std::string_view::npos) continue;
    int minor = 0;
    for (at += before.size(); at < name.size() && std::isdigit(name[at]) != 0 && minor < 100;
         ++at) {
      minor = minor * 10 + (name[at] - '0');
    }
    if (minor != 0) return minor;
  }
  return 0;
}

Search find_python(Memory& memory, std::span<const Mapping> mappings, std::string_view program) {
  Search out;
  const std::string_view name = base_name(program);
  out.foreign = name.starts_with("python") || name.starts_with("pypy");
  for (const Image& image : images_of(mappings, program)) {
    auto runtime = exported(memory, image.base, runtime_symbol);
    if (!runtime) runtime = search_description(memory, image);
    if (!runtime) continue;
    const Known known = layout_at(memory, *runtime, image, mappings);
    if (!known.layout) {
      out.foreign = true;
      out.why = known.minor == 0
                    ? fmt::format("the version of Python in {} is unknown", image.path)
                    : fmt::format("the memory layout of Python 3.{} is unknown to this toprun",
                                  known.minor);
      continue;
    }
    // A program that has Python in itself may also have mapped a library of it that sleeps.
    const bool runs = memory.get<Address>(*runtime + known.layout->interpreters).value_or(0) != 0;
    if (out.python && !runs) continue;
    out.python.emplace(*known.layout, *runtime);
    if (runs) break;
  }
  if (out.python) return {std::move(out.python), false, ""};
  if (out.foreign && out.why.empty()) {
    out.why = fmt::format("{} is not a CPython 3.{} or newer that could be recognized", name,
                          oldest_minor);
  }
  return out;
}

Search find_python_of(pid_t pid, ForeignMemory& memory) {
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid));
  const auto mappings = parse_maps(maps ? *maps : std::string());
  std::error_code error;
  const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  if (error && (error.value() == EACCES || error.value() == EPERM)) {
    return {.python = {}, .foreign = false, .why = why_forbidden(barriers_of(pid))};
  }
  if (mappings.empty()) return {};  // the kernel's, or at its end
  Search out = find_python(memory, mappings, program.string());
  if (!out.python && (memory.error() == EPERM || memory.error() == ENOSYS)) {
    out = {.python = {}, .foreign = false, .why = why_forbidden(barriers_of(pid))};
  }
  return out;
}

Barriers barriers_of(pid_t pid) {
  Barriers out;
  out.own_user = ::geteuid();
  // The folder's owner is root for a process that may not be looked into; status has the real one.
  const std::string status = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
  for (const std::string_view line : split(status, '\n')) {
    const auto fields = words(line);
    if (fields.size() < 3 || fields[0] != "Uid:") continue;
    if (const auto user = parse_int(fields[2])) out.user = static_cast<uid_t>(*user);
  }
  if (const auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope")) {
    if (const auto number = parse_int(trim(*scope))) out.yama_scope = static_cast<int>(*number);
  }
  const auto own = read_file("/proc/self/status");
  out.seccomp = own && labelled_number(*own, "Seccomp").value_or(0) != 0;
  return out;
}

std::string why_forbidden(const Barriers& barriers) {
  if (barriers.user && *barriers.user != barriers.own_user && barriers.own_user != 0) {
    return fmt::format("its memory may not be read: it runs as another user ({})", *barriers.user);
  }
  if (barriers.yama_scope.value_or(0) >= 2) {
    return fmt::format(
        "its memory may not be read: kernel.yama.ptrace_scope is {}; the value 1 lets toprun read "
        "the ranks that it started",
        *barriers.yama_scope);
  }
  if (barriers.seccomp) {
    return "its memory may not be read: this container forbids it; start it with the capability "
           "SYS_PTRACE";
  }
  if (barriers.yama_scope.value_or(0) == 1) {
    return "its memory may not be read: kernel.yama.ptrace_scope is 1, and the process is not a "
           "descendant of this one; the value 0 allows toprun to read it";
  }
  return "its memory may not be read: it runs in another user namespace, or has changed its user "
         "or capabilities";
}

}  // namespace toprun::stacks
