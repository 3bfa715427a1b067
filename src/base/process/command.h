#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::process {

// Returns the linker's digest of this program as 40 hex digits (the ELF note NT_GNU_BUILD_ID, which
// Flags.cmake requests). The digest is unique to this build and cheap to read. Empty if the note
// was stripped.
std::string build_id();

// Returns the build_id() of another program, which may be for any 64-bit machine. `head`: the first
// bytes of the program's file; linkers write the notes near the start. Empty if this is not an ELF
// file, or if `head` does not contain the note. (Format: elf(5).)
std::string build_id_in(std::string_view head);

// The folders that find_program() searches if PATH is unset or empty.
inline constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";
std::string search_path(const Environment& environment);

using IsExecutable = std::function<bool(const std::string& path)>;
bool is_executable_file(const std::string& path);  // false for a folder

// Finds the file that would run as `name`. If `name` contains a slash, the file is `name` itself.
// Otherwise the file is the first executable with this name in the environment's PATH. An empty
// entry in PATH is the current folder. Code that checks a program and code that runs it both use
// this function, so both find the same file.
std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable = is_executable_file);

// Returns the kind of this machine, as `uname -m` prints it: "x86_64".
std::string this_machine();

// The path to execute in order to start this process's own program again.
inline constexpr const char* own_program = "/proc/self/exe";
// Returns the path of the file that own_program links to. Error: /proc is not mounted.
Result<std::filesystem::path> own_path();

inline constexpr std::size_t max_output_bytes = 64u << 20;

// A command's exit code and output.
struct Finished {
  int code = 0;  // 128+n if signal n ended it
  std::string out;
  std::string err;
};

// Runs a command to its end, in its own process group, which is killed after `timeout`. The program
// is looked up in the environment's PATH; `input` is the program's whole stdin. This function
// blocks; any thread may call this function. Errors: program not found, time-out, too much output.
Result<Finished> run(const std::vector<std::string>& argv, const Environment& environment,
                     std::chrono::milliseconds timeout, std::string_view input = {});

// Runs a command and returns its stdout. Errors: those of run(), or an exit code other than 0. For
// such an exit code, the reason is the first line of the command's error message
// (base/text/shown_line.h).
Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout);

inline constexpr std::size_t max_reported_bytes = 64u << 10;  // how much of each stream is kept

// Like run(), for a command whose output matters only if the command fails. So tell() keeps only
// the beginning of the command's stdout and of its stderr. The function does not wait for
// background processes of the command, even if they keep its output open.
Result<Finished> tell(const std::vector<std::string>& argv, const Environment& environment,
                      std::chrono::milliseconds timeout, std::string_view input);

// Creates an in-memory file with this text, closed on exec. Unlike a pipe, such a file never blocks
// the writer.
Result<Fd> memory_file(std::string_view text, const char* name = "text");

// Runs a command to its end without a time limit. The command runs in the caller's process group,
// with an empty stdin. The command's stdout and stderr are the same pipe. Each line is passed to
// `on_line` at once, without its line end. A line longer than 64 KiB is passed in parts. Returns
// the exit code, or 128+n if signal n ended the command. Error: the program does not exist.
Result<int> watch(const std::vector<std::string>& argv, const Environment& environment,
                  const std::function<void(std::string_view line)>& on_line);

}  // namespace toprun::process
