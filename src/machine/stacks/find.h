#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "machine/stacks/proc.h"
#include "machine/stacks/python.h"

namespace toprun::stacks {

// The result of a search for the Python interpreter in a process.
struct Search {
  std::optional<Python> python;
  // True: the process seems to be Python, but in a version or of a kind that toprun does not know.
  bool foreign = false;
  std::string why;  // why `python` is unset, as a phrase for a message; empty: the process is not
                    // Python
};

// Searches for CPython in the images of a program and its libraries. `program` is the target of
// /proc/PID/exe.
Search find_python(Memory& memory, std::span<const Mapping> mappings, std::string_view program);

// Returns the minor version in a file name: the 8 in names such as libpython3.8.so.1.0, python3.8
// or x.cpython-38-x86_64-linux-gnu.so; 0 if the name has no version.
int minor_in_name(std::string_view path);

// Like find_python(), for a process. If toprun has no permission to read the process's memory, the
// result explains why.
Search find_python_of(pid_t pid, ForeignMemory& memory);

// What can prevent a process from reading another's memory (ptrace(2), "access mode checking").
struct Barriers {
  uid_t own_user = 0;
  std::optional<uid_t> user;      // the other process's user; unset: unknown
  std::optional<int> yama_scope;  // kernel.yama.ptrace_scope; unset: no Yama
  bool seccomp = false;           // a seccomp profile limits this process's system calls
};
Barriers barriers_of(pid_t pid);

// Returns why reading is forbidden, and how to allow it, as a phrase for a message.
std::string why_forbidden(const Barriers& barriers);

}  // namespace toprun::stacks
