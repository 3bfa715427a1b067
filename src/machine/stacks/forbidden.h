#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace toprun::stacks {

// What can prevent a process from reading another's memory (ptrace(2), "access mode checking").
struct Barriers {
  uid_t own_user = 0;
  std::optional<uid_t> user;      // the other process's user; unset: unknown
  std::optional<int> yama_scope;  // kernel.yama.ptrace_scope; unset: no Yama
  bool seccomp = false;           // a seccomp profile limits this process's system calls
};
Barriers barriers_of(pid_t pid);

// The reason and the fix, as a phrase for a message.
std::string why_forbidden(const Barriers& barriers);

}  // namespace toprun::stacks
