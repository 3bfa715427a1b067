#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "machine/stacks/frame.h"
#include "machine/stacks/layout.h"
#include "machine/stacks/memory.h"

namespace toprun::stacks {

inline constexpr std::size_t most_python_threads = 1024;
inline constexpr std::size_t most_frames = 256;    // of a stack, from the innermost on
inline constexpr std::size_t most_walked = 2'048;  // frames that are followed to find its end

// A thread that Python knows.
struct PythonThread {
  Address state = 0;    // PyThreadState
  Address pthread = 0;  // up to 3.10: the address of the C library's struct pthread; else 0
  int native_id = 0;    // from 3.11 on: the kernel's id in the process's own namespace; else 0
};

// An interpreter in another process's memory, which runs on while it is read. So whatever is read
// is checked before it is used: lengths, the types of objects, the number of steps. A stack is read
// until two looks in a row agree, or a few times; what a running process then shows is plausible,
// not exact: two looks agree on where it begins. Keeps the names of functions that it has read.
class Python {
 public:
  Python(Layout layout, Address runtime) : layout_(layout), runtime_(runtime) {}

  const Layout& layout() const { return layout_; }
  // Empty: Python has not begun yet or is at its end, or none could be read.
  std::vector<PythonThread> threads(Memory& memory) const;
  // The main thread among them, given its kernel id in the process's own namespace.
  std::optional<PythonThread> main_thread(Memory& memory, std::span<const PythonThread> threads,
                                          int native_id) const;
  // Whether some thread holds the GIL, that is, runs Python or calls C that keeps it. Nothing: it
  // has none, or it could not be read.
  std::optional<bool> is_locked(Memory& memory) const;
  // The functions of a thread, innermost first; empty where it runs none. Nothing: what was read
  // made no sense.
  std::optional<std::vector<Frame>> stack(Memory& memory, const PythonThread& thread);

 private:
  struct Link {                                   // a frame, as far as it is needed
    enum class Kind { function, shim, unclear };  // unclear: it has not begun or has ended

    Address previous = 0;
    Kind kind = Kind::unclear;
    Address code = 0;
    std::int64_t offset_bytes = 0;  // of the instruction from the first one

    bool operator==(const Link&) const = default;
  };
  struct Chain {
    Address innermost = 0;         // the frame at its beginning
    Address outermost = 0;         // and at its end
    bool is_whole = true;          // false: the innermost was unclear and is left out
    std::vector<Link> links = {};  // functions, innermost first
  };
  struct Code {
    std::array<Address, 3> parts{};  // name, file, line table: others mean another function
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
  Address code_type_ = 0;  // once it has been seen
  std::unordered_map<Address, Code> codes_;
};

// Finds which kernel thread each of Python's threads is where Python does not say (before 3.11): in
// struct pthread, the C library keeps the id at a place of its own. Returns one id for each thread
// in order, 0 where none fits.
std::vector<int> native_ids(Memory& memory, std::span<const PythonThread> threads,
                            std::span<const int> kernel_ids);

}  // namespace toprun::stacks
