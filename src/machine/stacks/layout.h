#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace toprun::stacks {

// The layout of CPython's own structures: the byte offsets of the fields that lead from its runtime
// to a thread's functions. A field that a version does not have is `absent`.
struct Layout {
  static constexpr std::uint32_t absent = 0xffffffff;

  // The kind of table that converts an instruction's offset to a line. Each kind has a function,
  // such as line_by_lnotab().
  enum class Lines { lnotab, ranges, locations };

  int minor = 0;  // in the version 3.minor
  Lines lines = Lines::locations;

  // _PyRuntimeState
  std::uint32_t interpreters = 0;      // interpreters.head
  std::uint32_t main_thread = absent;  // main_thread, a pthread_t
  std::uint32_t gil_locked = absent;   // ceval.gil.locked, an int, up to 3.11
  // PyInterpreterState
  std::uint32_t next_interpreter = 0;  // next
  std::uint32_t gil = absent;          // ceval.gil, a pointer, from 3.12 on
  std::uint32_t threads = 0;           // tstate_head, threads.head
  // PyThreadState
  std::uint32_t next_thread = 0;           // next
  std::uint32_t frame = 0;                 // frame, cframe, current_frame
  std::uint32_t frame_in_cframe = absent;  // _PyCFrame.current_frame; only in 3.11 and 3.12
  std::uint32_t pthread = absent;          // thread_id, in versions without native_id
  std::uint32_t native_id = absent;        // native_thread_id: the kernel's id, in its namespace
  // Fields of PyFrameObject up to Python 3.10, of _PyInterpreterFrame from 3.11 on.
  std::uint32_t previous = 0;    // f_back, previous
  std::uint32_t code = 0;        // f_code, f_executable; may have tags in its low bits
  std::uint32_t place = 0;       // f_lasti (int), prev_instr, instr_ptr
  std::uint32_t state = absent;  // f_executing, f_state up to 3.10: one byte
  std::uint8_t executing = 0;    // the value of that byte while the function runs
  std::uint32_t owner = absent;  // from 3.11, one byte: the kind of the frame
  // A frame whose `owner` has this or a higher value marks a call from C into Python. A frame that
  // marks such a call belongs to no Python function.
  std::uint8_t first_shim = 0xff;
  std::uint32_t bytecode_copy = absent;  // tlbc_index in a build without the GIL
  // PyCodeObject
  std::uint32_t file = 0;                  // co_filename
  std::uint32_t name = 0;                  // co_name
  std::uint32_t first_line = 0;            // co_firstlineno
  std::uint32_t line_table = 0;            // co_lnotab, co_linetable
  std::uint32_t instructions = absent;     // co_code_adaptive, if `place` is a pointer into it
  std::uint32_t bytecode_copies = absent;  // co_tlbc in a build without the GIL
  // PyObject, PyTypeObject, PyBytesObject
  std::uint32_t type = 0;        // ob_type
  std::uint32_t type_name = 0;   // tp_name
  std::uint32_t bytes_size = 0;  // ob_size
  std::uint32_t bytes_data = 0;  // ob_sval
  // PyASCIIObject
  std::uint32_t text_length = 0;    // length
  std::uint32_t text_state = 0;     // state; from its bit `text_kind_bit` on: kind:3,
  std::uint32_t text_kind_bit = 0;  //   compact:1, ascii:1
  std::uint32_t ascii_data = 0;     // sizeof(PyASCIIObject)
  std::uint32_t other_data = 0;     // sizeof(PyCompactUnicodeObject)

  bool operator==(const Layout&) const = default;
};

// Returns the offsets for version 3.minor if its runtime does not describe itself: 3.8 to 3.12.
inline constexpr int oldest_minor = 8;
std::optional<Layout> fixed_layout(int minor);

// From 3.13 on, the runtime structure begins with a description of itself (_Py_DebugOffsets in
// pycore_debug_offsets.h). The order of its fields differs between versions, so there is one table
// here per version.
inline constexpr std::size_t description_bytes = 960;
inline constexpr char description_cookie[] = "xdebugpy";
bool describes_itself(std::span<const std::byte> runtime);
// Reads the offsets from a description. nullopt if the version is newer than these tables, or if
// the numbers are implausible.
std::optional<Layout> described_layout(std::span<const std::byte> runtime);

// Returns the minor of "3.minor" in a description; 0 if `runtime` has no description.
int described_minor(std::span<const std::byte> runtime);

// Converts an offset in a code object to its line, with the compiler's line table. The bytes come
// from another process and may be invalid; no function reads beyond their end. They return 0 if the
// instruction has no line or is not in the table.
//
// `offset_bytes` counts from the first instruction. A negative offset means that the function has
// not begun yet. For a negative offset, the result is `first_line` (co_firstlineno).

// Python up to 3.9 has co_lnotab: pairs of a byte count and a signed line count (CPython,
// Objects/lnotab_notes.txt in those versions).
int line_by_lnotab(std::span<const std::byte> table, int first_line, int offset_bytes);

// Python 3.10 has co_linetable in the form of PEP 626: the same pairs with another meaning
// (Objects/lnotab_notes.txt in 3.10).
int line_by_ranges(std::span<const std::byte> table, int first_line, int offset_bytes);

// From 3.11 on, Python has co_linetable in the form of PEP 657. Each entry has a start byte, which
// contains its kind, and data for that kind (Objects/locations.md, later
// InternalDocs/code_objects.md).
int line_by_locations(std::span<const std::byte> table, int first_line, int offset_bytes);

}  // namespace toprun::stacks
