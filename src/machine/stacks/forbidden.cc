#include "machine/stacks/forbidden.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/text/text.h"
#include "machine/stacks/proc.h"

namespace toprun::stacks {

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
