#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/stacks/frame.h"
#include "machine/stacks/layout.h"
#include "machine/stacks/memory.h"

namespace toprun::stacks {

// The maximum number of code points read from a name; the rest is cut off.
inline constexpr std::size_t most_characters = 4096;

// Converts the characters of a Python string, `kind` bytes each (1, 2, 4), to UTF-8. A lone
// surrogate, which represents a byte that was not UTF-8, becomes U+FFFD. nullopt if a character is
// not a code point.
std::optional<std::string> utf8_of(std::span<const std::byte> characters, int kind);

// Reads the text of a str object. nullopt if there is no such object, or if the object is not
// compact (names in code objects always are).
std::optional<std::string> read_text(Memory& memory, const Layout& layout, Address object);

inline constexpr std::size_t most_python_threads = 1024;
inline constexpr std::size_t most_frames = 256;    // in a stack, counted from the innermost
inline constexpr std::size_t most_walked = 2'048;  // frames that are followed to find a stack's end

// A thread in Python's list of threads.
struct PythonThread {
  Address state = 0;    // PyThreadState
  Address pthread = 0;  // up to 3.10: the address of the C library's struct pthread; else 0
  int native_id = 0;    // from 3.11 on: the kernel's id in the process's own namespace; else 0
};

// A Python interpreter in another process, whose memory is read while that process keeps running.
// So each value is checked before it is used: lengths, the types of objects, the number of steps. A
// stack is read until two reads in a row agree, but only a few times. If the stack changes all the
// time, two reads may agree only on its outermost frame. In this case, the result is plausible, not
// exact. Caches the names of functions.
class Python {
 public:
  Python(Layout layout, Address runtime) : layout_(layout), runtime_(runtime) {}

  const Layout& layout() const { return layout_; }
  // Reads Python's list of threads. Empty if Python has not started yet or is shutting down, or if
  // no thread could be read.
  std::vector<PythonThread> threads(Memory& memory) const;
  // Finds the main thread in `threads` by its kernel id in the process's own namespace.
  std::optional<PythonThread> main_thread(Memory& memory, std::span<const PythonThread> threads,
                                          int native_id) const;
  // Whether a thread holds the GIL. The thread that holds it executes Python code, or C code that
  // does not release the GIL. Unset: the build has no GIL, or its state could not be read.
  std::optional<bool> is_locked(Memory& memory) const;
  // Reads the functions of a thread, innermost first; empty if the thread runs no Python function.
  // nullopt: the data was inconsistent.
  std::optional<std::vector<Frame>> stack(Memory& memory, const PythonThread& thread);

 private:
  struct Link {                                   // the parts of a frame that are needed
    enum class Kind { function, shim, unclear };  // unclear: it has not begun or has ended

    Address previous = 0;
    Kind kind = Kind::unclear;
    Address code = 0;
    std::int64_t offset_bytes = 0;  // from the first instruction to the current one

    bool operator==(const Link&) const = default;
  };
  struct Chain {
    Address innermost = 0;         // its first frame
    Address outermost = 0;         // its last frame
    bool is_whole = true;          // false: the innermost was unclear and is left out
    std::vector<Link> links = {};  // functions, innermost first
  };
  struct Code {
    std::array<Address, 3> parts{};  // name, file, line table; if one of them changes, this is
                                     // another function
    int first_line = 0;
    Frame frame;
    std::vector<std::byte> line_table;
  };

  static bool is_same(const Chain& before, const Chain& after);
  std::optional<Address> innermost(Memory& memory, const PythonThread& thread) const;
  std::optional<Chain> chain(Memory& memory, const PythonThread& thread) const;
  std::optional<Link> link_at(Memory& memory, Address frame) const;
  std::optional<std::int64_t> offset_of(Memory& memory, std::span<const std::byte> frame,
                                        Address code) const;
  std::optional<std::vector<Frame>> named(Memory& memory, std::span<const Link> links);
  const Code* code_at(Memory& memory, Address at);
  std::optional<Code> read_code(Memory& memory, std::span<const std::byte> object) const;
  bool has_type(Memory& memory, Address object, std::string_view name) const;
  int line_of(const Code& code, std::int64_t offset_bytes) const;

  Layout layout_;
  Address runtime_;
  Address code_type_ = 0;  // set once it has been found
  std::unordered_map<Address, Code> codes_;
};

// Finds the kernel thread for each Python thread, for versions that do not record it (before 3.11).
// The C library stores the kernel thread's id in struct pthread, at an offset that is not
// documented. Returns one kernel thread id for each entry of `threads`, in order; 0 if no id fits.
std::vector<int> native_ids(Memory& memory, std::span<const PythonThread> threads,
                            std::span<const int> kernel_ids);

}  // namespace toprun::stacks
