#include "machine/stacks/python.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ranges>
#include <set>
#include <vector>

#include "machine/stacks/layout.h"

namespace toprun::stacks {
namespace {

// A longer name is not a name, but what was read while it changed.
constexpr std::uint64_t longest_plausible = 1u << 20;

char32_t character_at(std::span<const std::byte> characters, std::size_t index, int kind) {
  if (kind == 1) return value_at<std::uint8_t>(characters, index);
  if (kind == 2) return value_at<std::uint16_t>(characters, index * 2);
  return value_at<std::uint32_t>(characters, index * 4);
}

void append(std::string& out, char32_t code) {
  const auto put = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

constexpr int most_looks = 40;  // to see the same stack twice
constexpr std::size_t most_interpreters = 64;
constexpr std::size_t most_line_table_bytes = 1u << 20;
constexpr std::size_t most_codes = 8'192;  // whose names are kept
constexpr std::size_t most_object_bytes = 1'024;
constexpr std::int64_t most_code_bytes = 64 << 20;
constexpr int code_unit_bytes = 2;
constexpr Address locked_in_gil = 16;  // _gil_runtime_state.locked, behind interval and last_holder

// Whether there can be a pointer to an object: of a user's memory, aligned, not null.
bool is_plausible(Address at) {
  return at >= 0x1000 && at < Address{1} << 56 && at % alignof(void*) == 0;
}

// The size that holds fields of eight bytes at these places.
std::size_t size_for(std::initializer_list<std::uint32_t> offsets) {
  std::size_t size = 0;
  for (const std::uint32_t offset : offsets) {
    if (offset != Layout::absent) size = std::max<std::size_t>(size, offset + 8);
  }
  return std::min(size, most_object_bytes);
}

using Buffer = std::array<std::byte, most_object_bytes>;

}  // namespace

std::optional<std::string> utf8_of(std::span<const std::byte> characters, int kind) {
  constexpr char32_t replacement = 0xfffd;
  constexpr char32_t largest = 0x10ffff;
  if (kind != 1 && kind != 2 && kind != 4) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < characters.size() / static_cast<std::size_t>(kind); ++i) {
    const char32_t code = character_at(characters, i, kind);
    if (code > largest) return std::nullopt;
    append(out, code >= 0xd800 && code < 0xe000 ? replacement : code);
  }
  return out;
}

std::optional<std::string> read_text(Memory& memory, const Layout& layout, Address object) {
  const auto length = memory.get<std::uint64_t>(object + layout.text_length);
  const auto state = memory.get<std::uint32_t>(object + layout.text_state);
  if (!length || !state || *length > longest_plausible) return std::nullopt;
  const std::uint32_t bits = *state >> layout.text_kind_bit;
  const int kind = static_cast<int>(bits & 7);
  const bool compact = (bits >> 3 & 1) != 0;
  const bool ascii = (bits >> 4 & 1) != 0;
  if (!compact || (ascii && kind != 1)) return std::nullopt;
  if (kind != 1 && kind != 2 && kind != 4) return std::nullopt;

  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(*length, most_characters));
  std::vector<std::byte> characters(count * static_cast<std::size_t>(kind));
  const Address data = object + (ascii ? layout.ascii_data : layout.other_data);
  if (!memory.read(data, characters)) return std::nullopt;
  return utf8_of(characters, kind);
}

std::vector<PythonThread> Python::threads(Memory& memory) const {
  std::vector<PythonThread> out;
  auto interpreter = memory.get<Address>(runtime_ + layout_.interpreters);
  for (std::size_t i = 0; i < most_interpreters; ++i) {
    if (!interpreter || !is_plausible(*interpreter)) break;
    auto state = memory.get<Address>(*interpreter + layout_.threads);
    while (state && is_plausible(*state) && out.size() < most_python_threads) {
      PythonThread thread{.state = *state};
      if (layout_.pthread != Layout::absent) {
        thread.pthread = memory.get<Address>(*state + layout_.pthread).value_or(0);
      }
      if (layout_.native_id != Layout::absent) {
        const auto id = memory.get<std::uint64_t>(*state + layout_.native_id).value_or(0);
        thread.native_id = static_cast<int>(id);
      }
      out.push_back(thread);
      state = memory.get<Address>(*state + layout_.next_thread);
    }
    interpreter = memory.get<Address>(*interpreter + layout_.next_interpreter);
  }
  return out;
}

std::optional<PythonThread> Python::main_thread(Memory& memory,
                                                std::span<const PythonThread> threads,
                                                int native_id) const {
  Address pthread = 0;
  if (layout_.main_thread != Layout::absent) {
    pthread = memory.get<Address>(runtime_ + layout_.main_thread).value_or(0);
  }
  // The first interpreter is the last of the list.
  for (const PythonThread& thread : std::views::reverse(threads)) {
    if (pthread != 0 ? thread.pthread == pthread : thread.native_id == native_id) return thread;
  }
  return std::nullopt;
}

std::optional<bool> Python::is_locked(Memory& memory) const {
  std::optional<int> locked;
  if (layout_.gil_locked != Layout::absent) {
    locked = memory.get<int>(runtime_ + layout_.gil_locked);
  } else if (layout_.gil != Layout::absent) {
    const auto interpreter = memory.get<Address>(runtime_ + layout_.interpreters);
    if (!interpreter || !is_plausible(*interpreter)) return std::nullopt;
    const auto gil = memory.get<Address>(*interpreter + layout_.gil);
    if (gil && is_plausible(*gil)) locked = memory.get<int>(*gil + locked_in_gil);
  }
  // 0 or 1; -1 before the first thread has come.
  if (!locked || *locked < -1 || *locked > 1) return std::nullopt;
  return *locked == 1;
}

std::optional<std::vector<Frame>> Python::stack(Memory& memory, const PythonThread& thread) {
  std::optional<std::vector<Frame>> plausible;
  auto pages = std::make_unique<Pages>(memory);
  auto before = chain(*pages, thread);
  for (int i = 0; i < most_looks; ++i) {
    auto frames = before ? named(*pages, before->links) : std::nullopt;
    pages = std::make_unique<Pages>(memory);
    auto after = chain(*pages, thread);
    if (frames && after && before->outermost == after->outermost) {
      if (is_same(*before, *after)) return frames;
      // A function that has just ended cuts the rest off: the deepest is the likeliest.
      if (!plausible || frames->size() > plausible->size()) plausible = std::move(frames);
    }
    before = std::move(after);
  }
  return plausible;
}

bool Python::is_same(const Chain& before, const Chain& after) {
  const auto& a = before.links;
  const auto& b = after.links;
  if (!before.is_whole || !after.is_whole || a.size() != b.size()) return false;
  if (before.innermost != after.innermost) return false;
  // The innermost function may go on from line to line.
  return a.empty() || (a[0].code == b[0].code && std::equal(a.begin() + 1, a.end(), b.begin() + 1));
}

std::optional<Address> Python::innermost(Memory& memory, const PythonThread& thread) const {
  const auto frame = memory.get<Address>(thread.state + layout_.frame);
  if (!frame || *frame == 0 || layout_.frame_in_cframe == Layout::absent) return frame;
  return memory.get<Address>(*frame + layout_.frame_in_cframe);
}

std::optional<Python::Chain> Python::chain(Memory& memory, const PythonThread& thread) const {
  auto frame = innermost(memory, thread);
  if (!frame) return std::nullopt;
  Chain out{.innermost = *frame};
  for (std::size_t i = 0; *frame != 0 && i < most_walked; ++i) {
    const auto link = link_at(memory, *frame);
    if (!link) return std::nullopt;
    if (link->kind == Link::Kind::unclear) {
      if (i != 0 || link->previous == 0) return std::nullopt;
      out.is_whole = false;
    }
    if (link->kind == Link::Kind::function && out.links.size() < most_frames) {
      out.links.push_back(*link);
    }
    out.outermost = *frame;
    frame = link->previous;
  }
  return out;
}

std::optional<Python::Link> Python::link_at(Memory& memory, Address frame) const {
  constexpr Address tags = 7;
  if (!is_plausible(frame)) return std::nullopt;
  Buffer buffer;
  const auto bytes =
      std::span(buffer).first(size_for({layout_.previous, layout_.code, layout_.place,
                                        layout_.state, layout_.owner, layout_.bytecode_copy}));
  if (!memory.read(frame, bytes)) return std::nullopt;
  Link out{.previous = value_at<Address>(bytes, layout_.previous)};
  if (layout_.state != Layout::absent &&
      value_at<std::uint8_t>(bytes, layout_.state) != layout_.executing) {
    return out;
  }
  if (layout_.owner != Layout::absent &&
      value_at<std::uint8_t>(bytes, layout_.owner) >= layout_.first_shim) {
    out.kind = Link::Kind::shim;
    return out;
  }
  const Address code = value_at<Address>(bytes, layout_.code) & ~tags;
  const auto offset = is_plausible(code) ? offset_of(memory, bytes, code) : std::nullopt;
  if (!offset) return out;
  return Link{out.previous, Link::Kind::function, code, *offset};
}

std::optional<std::int64_t> Python::offset_of(Memory& memory, std::span<const std::byte> frame,
                                              Address code) const {
  if (layout_.instructions == Layout::absent) {
    const std::int64_t last = value_at<std::int32_t>(frame, layout_.place);
    return layout_.lines == Layout::Lines::lnotab || last < 0 ? last : last * code_unit_bytes;
  }
  Address first = code + layout_.instructions;
  const int copy = layout_.bytecode_copy == Layout::absent
                       ? 0
                       : value_at<std::int32_t>(frame, layout_.bytecode_copy);
  if (copy != 0) {  // a thread's own copy of the instructions; their number stands before them
    const auto copies = memory.get<Address>(code + layout_.bytecode_copies);
    const auto count = copies ? memory.get<std::int64_t>(*copies) : std::nullopt;
    if (!count || copy < 0 || copy >= *count) return std::nullopt;
    const auto own = memory.get<Address>(*copies + 8 + static_cast<Address>(copy) * 8);
    if (!own) return std::nullopt;
    first = *own;
  }
  const auto offset = static_cast<std::int64_t>(value_at<Address>(frame, layout_.place) - first);
  if (offset < -code_unit_bytes || offset > most_code_bytes) return std::nullopt;
  return offset;
}

std::optional<std::vector<Frame>> Python::named(Memory& memory, std::span<const Link> links) {
  std::vector<Frame> out;
  for (const Link& link : links) {
    const Code* const code = code_at(memory, link.code);
    if (code == nullptr) return std::nullopt;
    out.push_back(code->frame);
    out.back().line = line_of(*code, link.offset_bytes);
  }
  return out;
}

const Python::Code* Python::code_at(Memory& memory, Address at) {
  Buffer buffer;
  const auto bytes = std::span(buffer).first(
      size_for({layout_.type, layout_.file, layout_.name, layout_.first_line, layout_.line_table}));
  if (!memory.read(at, bytes)) return nullptr;
  const auto type = value_at<Address>(bytes, layout_.type);
  if (type != code_type_) {
    if (!has_type(memory, at, "code")) return nullptr;
    code_type_ = type;
  }
  const std::array parts{value_at<Address>(bytes, layout_.name),
                         value_at<Address>(bytes, layout_.file),
                         value_at<Address>(bytes, layout_.line_table)};
  if (const auto known = codes_.find(at); known != codes_.end()) {
    if (known->second.parts == parts) return &known->second;
    codes_.erase(known);
  }
  auto code = read_code(memory, bytes);
  if (!code) return nullptr;
  if (codes_.size() >= most_codes) codes_.clear();
  code->parts = parts;
  return &codes_.emplace(at, std::move(*code)).first->second;
}

std::optional<Python::Code> Python::read_code(Memory& memory,
                                              std::span<const std::byte> object) const {
  const auto name = value_at<Address>(object, layout_.name);
  const auto file = value_at<Address>(object, layout_.file);
  const auto table = value_at<Address>(object, layout_.line_table);
  if (!has_type(memory, name, "str") || !has_type(memory, file, "str")) return std::nullopt;
  if (!has_type(memory, table, "bytes")) return std::nullopt;
  const auto function = read_text(memory, layout_, name);
  const auto path = read_text(memory, layout_, file);
  const auto size = memory.get<std::uint64_t>(table + layout_.bytes_size);
  if (!function || !path || !size) return std::nullopt;

  Code out;
  out.first_line = value_at<std::int32_t>(object, layout_.first_line);
  out.frame = {*function, *path, 0};
  out.line_table.resize(std::min<std::uint64_t>(*size, most_line_table_bytes));
  if (!memory.read(table + layout_.bytes_data, out.line_table)) return std::nullopt;
  return out;
}

bool Python::has_type(Memory& memory, Address object, std::string_view name) const {
  if (!is_plausible(object)) return false;
  const auto type = memory.get<Address>(object + layout_.type);
  if (!type || !is_plausible(*type)) return false;
  const auto text = memory.get<Address>(*type + layout_.type_name);
  return text && memory.text(*text, name.size() + 1) == name;
}

int Python::line_of(const Code& code, std::int64_t offset_bytes) const {
  const auto offset = static_cast<int>(offset_bytes);
  switch (layout_.lines) {
    case Layout::Lines::lnotab:
      return line_by_lnotab(code.line_table, code.first_line, offset);
    case Layout::Lines::ranges:
      return line_by_ranges(code.line_table, code.first_line, offset);
    case Layout::Lines::locations:
      break;
  }
  return line_by_locations(code.line_table, code.first_line, offset);
}

std::vector<int> native_ids(Memory& memory, std::span<const PythonThread> threads,
                            std::span<const int> kernel_ids) {
  // Of struct pthread: glibc has the id at 720. musl has it at 48, and less may be mapped behind
  // it.
  constexpr std::size_t most_bytes = 1'024;
  constexpr std::size_t least_bytes = 64;
  std::vector<std::vector<std::byte>> heads;
  for (const PythonThread& thread : threads) {
    auto& head = heads.emplace_back(most_bytes);
    if (memory.read(thread.pthread, head)) continue;
    head.resize(least_bytes);
    if (!memory.read(thread.pthread, head)) head.clear();
  }
  std::vector<int> best(threads.size());
  std::size_t best_count = 0;
  for (std::size_t at = 0; at < most_bytes; at += sizeof(int)) {
    std::vector<int> ids;
    std::set<int> known;
    for (const auto& head : heads) {
      const int id = value_at<int>(head, at);
      const bool fits = std::ranges::find(kernel_ids, id) != kernel_ids.end();
      ids.push_back(fits && known.insert(id).second ? id : 0);
    }
    if (known.size() <= best_count) continue;
    best_count = known.size();
    best = std::move(ids);
  }
  return best;
}

}  // namespace toprun::stacks
