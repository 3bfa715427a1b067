#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace toprun::stacks {

// What can keep one process from reading another's memory (ptrace(2), "access mode checking").
struct Barriers {
  uid_t own_user = 0;
  std::optional<uid_t> user;      // of the other process; nothing: unknown
  std::optional<int> yama_scope;  // kernel.yama.ptrace_scope; nothing: no Yama
  bool seccomp = false;           // a seccomp profile limits our own calls
};
Barriers barriers_of(pid_t pid);

// Why, and what to do, as a phrase for a message.
std::string why_forbidden(const Barriers& barriers);

}  // namespace toprun::stacks
