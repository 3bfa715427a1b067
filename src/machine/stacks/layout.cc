#include "machine/stacks/layout.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#include "machine/stacks/memory.h"

namespace toprun::stacks {
namespace {

constexpr std::uint32_t absent = Layout::absent;
constexpr std::uint8_t owned_by_c_stack = 3;  // FRAME_OWNED_BY_CSTACK, later …_BY_INTERPRETER

// What all versions up to 3.12 share on 64 bits.
Layout older(int minor) {
  return {.minor = minor,
          .next_interpreter = 0,
          .next_thread = 8,
          .type = 8,
          .type_name = 24,
          .bytes_size = 16,
          .bytes_data = 32,
          .text_length = 16,
          .text_state = 32,
          .text_kind_bit = 2,
          .ascii_data = 48,
          .other_data = 72};
}

// 3.8 to 3.10: frames are objects, threads have the address that pthread_self() gives.
Layout with_frame_objects(int minor) {
  Layout out = older(minor);
  out.lines = minor < 10 ? Layout::Lines::lnotab : Layout::Lines::ranges;
  out.interpreters = 32;
  out.main_thread = 72;
  out.gil_locked = minor == 8 ? 1168 : 368;
  out.threads = 8;
  out.frame = 24;
  out.pthread = 176;
  out.previous = 24;
  out.code = 32;
  out.place = minor < 10 ? 104 : 96;
  out.state = minor < 10 ? 116 : 108;
  out.executing = minor < 10 ? 1 : 0;  // FRAME_EXECUTING
  out.file = 104;
  out.name = 112;
  out.first_line = 40;
  out.line_table = 120;
  return out;
}

// 3.11 and 3.12: frames on a stack of Python's own, found by way of a _PyCFrame on C's.
Layout with_cframes(int minor) {
  Layout out = older(minor);
  out.interpreters = 40;
  out.frame = 56;
  out.place = 56;
  out.file = 112;
  out.name = 120;
  out.line_table = 136;
  if (minor == 11) {
    out.gil_locked = 376;
    out.threads = 16;
    out.frame_in_cframe = 8;
    out.native_id = 160;
    out.previous = 48;
    out.code = 32;
    out.owner = 69;
    out.first_line = 72;
    out.instructions = 184;
    return out;
  }
  out.gil = 384;
  out.threads = 72;
  out.frame_in_cframe = 0;
  out.native_id = 144;
  out.previous = 8;
  out.code = 0;
  out.owner = 70;
  out.first_shim = owned_by_c_stack;
  out.first_line = 68;
  out.instructions = 192;
  out.ascii_data = 40;
  out.other_data = 56;
  return out;
}

// Where in the description a field's offset stands.
struct Row {
  std::uint32_t Layout::*field;
  std::array<std::uint16_t, 3> at;  // in 3.13, 3.14, 3.15; 0: not described
  std::uint32_t limit;              // what is not below is implausible
};

constexpr std::uint32_t large = 16u << 20;  // the runtime and an interpreter hold much besides
constexpr std::uint32_t small = 512;

constexpr Row rows[] = {
    {&Layout::interpreters, {40, 40, 40}, large},      // runtime_state.interpreters_head
    {&Layout::next_interpreter, {64, 64, 64}, large},  // interpreter_state.next
    {&Layout::threads, {72, 72, 72}, large},           // interpreter_state.threads_head
    {&Layout::gil, {112, 120, 120}, large},            // interpreter_state.ceval_gil
    {&Layout::next_thread, {168, 192, 192}, large},    // thread_state.next
    {&Layout::frame, {184, 208, 208}, large},          // thread_state.current_frame
    {&Layout::native_id, {200, 224, 248}, large},      // thread_state.native_thread_id
    {&Layout::previous, {232, 256, 320}, small},       // interpreter_frame.previous
    {&Layout::code, {240, 264, 328}, small},           // interpreter_frame.executable
    {&Layout::place, {248, 272, 336}, small},          // interpreter_frame.instr_ptr
    {&Layout::owner, {264, 288, 352}, small},          // interpreter_frame.owner
    {&Layout::bytecode_copy, {0, 304, 368}, small},    // interpreter_frame.tlbc_index
    {&Layout::file, {280, 320, 384}, small},           // code_object.filename
    {&Layout::name, {288, 328, 392}, small},           // code_object.name
    {&Layout::line_table, {304, 344, 408}, small},     // code_object.linetable
    {&Layout::first_line, {312, 352, 416}, small},     // code_object.firstlineno
    {&Layout::instructions, {344, 384, 448}, small},   // code_object.co_code_adaptive
    {&Layout::bytecode_copies, {0, 392, 456}, small},  // code_object.co_tlbc
    {&Layout::type, {360, 408, 472}, small},           // pyobject.ob_type
    {&Layout::type_name, {376, 424, 488}, small},      // type_object.tp_name
    {&Layout::bytes_size, {520, 600, 696}, small},     // bytes_object.ob_size
    {&Layout::bytes_data, {528, 608, 704}, small},     // bytes_object.ob_sval
    {&Layout::text_state, {544, 624, 720}, small},     // unicode_object.state
    {&Layout::text_length, {552, 632, 728}, small},    // unicode_object.length
    {&Layout::ascii_data, {560, 640, 736}, small},     // unicode_object.asciiobject_size
};
constexpr int first_described = 13;
constexpr std::size_t version_at = 8;
constexpr std::size_t free_threaded_at = 16;

int unsigned_at(std::span<const std::byte> table, std::size_t at) {
  return std::to_integer<int>(table[at]);
}

int signed_at(std::span<const std::byte> table, std::size_t at) {
  return static_cast<std::int8_t>(unsigned_at(table, at));
}

int as_line(std::int64_t line) {
  return line > 0 && line <= std::numeric_limits<int>::max() ? static_cast<int>(line) : 0;
}

// The forms of an entry of PEP 657's table, in bits 3 to 6 of its first byte.
constexpr int one_line = 10;  // to 12: the line is 0 to 2 below the one before
constexpr int no_columns = 13;
constexpr int long_form = 14;
constexpr int no_line = 15;

constexpr int unit_bytes = 2;  // of an instruction

// A number in groups of six bits, the lowest first, whose lowest bit is the sign.
std::int64_t signed_number(std::span<const std::byte> table, std::size_t at) {
  constexpr int group_bits = 6;
  constexpr unsigned more = 0x40;
  std::uint64_t value = 0;
  for (int shift = 0; at < table.size() && shift < 36; ++at, shift += group_bits) {
    const auto byte = std::to_integer<unsigned>(table[at]);
    value |= static_cast<std::uint64_t>(byte & 0x3f) << shift;
    if ((byte & more) == 0) break;
  }
  const auto half = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -half : half;
}

}  // namespace

std::optional<Layout> fixed_layout(int minor) {
  if (minor < oldest_minor || minor >= first_described) return std::nullopt;
  return minor <= 10 ? with_frame_objects(minor) : with_cframes(minor);
}

bool describes_itself(std::span<const std::byte> runtime) {
  constexpr std::size_t size = sizeof description_cookie - 1;
  return runtime.size() >= size && std::memcmp(runtime.data(), description_cookie, size) == 0;
}

int described_minor(std::span<const std::byte> runtime) {
  const auto version = value_at<std::uint64_t>(runtime, version_at);  // PY_VERSION_HEX
  if (!describes_itself(runtime) || version >> 24 != 3) return 0;
  return static_cast<int>(version >> 16 & 0xff);
}

std::optional<Layout> described_layout(std::span<const std::byte> runtime) {
  const auto version = static_cast<std::size_t>(described_minor(runtime) - first_described);
  if (version >= std::size(rows[0].at)) return std::nullopt;
  const bool free_threaded = value_at<std::uint64_t>(runtime, free_threaded_at) != 0;

  Layout out{.minor = described_minor(runtime), .first_shim = owned_by_c_stack};
  for (const Row& row : rows) {
    if (row.at[version] == 0) continue;
    const auto offset = value_at<std::uint64_t>(runtime, row.at[version]);
    if (offset >= row.limit) return std::nullopt;
    out.*row.field = static_cast<std::uint32_t>(offset);
  }
  if (!free_threaded) out.bytecode_copy = out.bytecode_copies = absent;
  if (free_threaded) out.gil = absent;
  // `interned`, before the kind, has a byte of its own where threads change it without the GIL.
  out.text_kind_bit = free_threaded && out.minor >= 14 ? 8 : 2;
  out.other_data = out.ascii_data + 16;  // and utf8_length, utf8
  return out;
}

int line_by_lnotab(std::span<const std::byte> table, int first_line, int offset_bytes) {
  std::int64_t line = first_line;
  int address = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    address += unsigned_at(table, i);
    if (address > offset_bytes) break;
    line += signed_at(table, i + 1);
  }
  return as_line(line);
}

int line_by_ranges(std::span<const std::byte> table, int first_line, int offset_bytes) {
  constexpr int none = -128;
  if (offset_bytes < 0) return as_line(first_line);
  std::int64_t line = first_line;
  int end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    end += unsigned_at(table, i);
    const int step = signed_at(table, i + 1);
    if (step != none) line += step;
    if (end > offset_bytes) return step == none ? 0 : as_line(line);
  }
  return 0;
}

int line_by_locations(std::span<const std::byte> table, int first_line, int offset_bytes) {
  constexpr unsigned start_bit = 0x80;
  if (offset_bytes < 0) return as_line(first_line);
  std::int64_t line = first_line;
  int end = 0;
  for (std::size_t at = 0; at < table.size();) {
    const auto first = std::to_integer<unsigned>(table[at++]);
    const int form = static_cast<int>(first >> 3 & 0xf);
    end += static_cast<int>((first & 7) + 1) * unit_bytes;
    if (form == no_columns || form == long_form) line += signed_number(table, at);
    if (form >= one_line && form < no_columns) line += form - one_line;
    if (end > offset_bytes) return form == no_line ? 0 : as_line(line);
    while (at < table.size() && (std::to_integer<unsigned>(table[at]) & start_bit) == 0) ++at;
  }
  return 0;
}

}  // namespace toprun::stacks
