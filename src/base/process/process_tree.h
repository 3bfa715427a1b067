#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Functions that find the parents and children of processes in /proc.
namespace toprun::process {

inline constexpr std::size_t most_listed = 1u << 22;  // the maximum number of process ids in Linux

// Returns the numeric entries of a folder in /proc, ascending: process or thread ids.
std::vector<pid_t> numbered_entries(const std::string& folder, std::size_t most = most_listed);

std::optional<pid_t> parent_of(pid_t pid);

// Whether the process looks like a fork of `parent` that has not called exec: the command lines are
// equal.
bool is_copy(pid_t pid, pid_t parent);

// Returns the children of all of a process's threads, zombies included.
std::vector<pid_t> children_of(pid_t pid, std::size_t most = most_listed);

// Returns the children of `root`, then the children's children, and so on, zombies included. If a
// process forks during the call, the result may lack the new process. To kill all descendants,
// repeat the call until the kernel reports no children of `root`.
std::vector<pid_t> descendants(pid_t root, std::size_t most = most_listed);
// Like descendants(), without the processes `left_out` and their descendants.
std::vector<pid_t> descendants_without(pid_t root, std::span<const pid_t> left_out,
                                       std::size_t most = most_listed);

}  // namespace toprun::process
