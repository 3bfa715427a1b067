#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "machine/stacks/proc.h"
#include "machine/stacks/python.h"

namespace toprun::stacks {

// The interpreter of a process, or why there is none.
struct Search {
  std::optional<Python> python;
  // It looks like Python, but of a version or kind that is not known here.
  bool foreign = false;
  std::string why;  // no `python`, and the process may be one: a phrase for a message
};

// Looks for CPython in a program's image and those of its libraries. `program` is the target of
// /proc/PID/exe.
Search find_python(Memory& memory, std::span<const Mapping> mappings, std::string_view program);

// The 8 of a file's name such as libpython3.8.so.1.0, python3.8 or
// x.cpython-38-x86_64-linux-gnu.so; 0 if it has none.
int minor_in_name(std::string_view path);

// find_python() of a process, with an explanation where its memory may not be read.
Search find_python_of(pid_t pid, ForeignMemory& memory);

}  // namespace toprun::stacks
