#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "base/os/fd.h"

namespace toprun::stacks {

using Address = std::uint64_t;

// The memory of a process, or bytes that stand for it in tests. It may change between two reads and
// hold anything: who reads it checks each value.
class Memory {
 public:
  virtual ~Memory() = default;
  // Fills `into` or nothing that counts. False: some of it is not mapped or may not be read.
  virtual bool read(Address from, std::span<std::byte> into) = 0;

  template <class T>
  requires std::is_trivially_copyable_v<T> std::optional<T> get(Address from) {
    T value;
    if (!read(from, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }

  // The text at an address up to its 0, of at most `most_bytes`; shorter where memory ends.
  std::string text(Address from, std::size_t most_bytes);
};

// A value within bytes that were read before; 0 beyond their end.
template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

// Another process's memory, by process_vm_readv(2), or by /proc/PID/mem where a seccomp profile
// forbids that call. Both ask the kernel for the right to trace the process (ptrace(2), "access
// mode checking"), and neither stops it. A page of a file on a server that does not answer blocks.
class ForeignMemory : public Memory {
 public:
  explicit ForeignMemory(pid_t pid) : pid_(pid) {}
  bool read(Address from, std::span<std::byte> into) override;
  // The errno of the last read that failed; 0: none has.
  int error() const { return error_; }

 private:
  bool read_file(Address from, std::span<std::byte> into);

  pid_t pid_;
  Fd file_;  // /proc/PID/mem, once the call was refused
  int error_ = 0;
};

// Pages of another memory as they were when they were first asked for: one call for all that stands
// near, so that less changes while it is read.
class Pages : public Memory {
 public:
  static constexpr std::size_t page_bytes = 4'096;
  static constexpr std::size_t most_pages = 1'024;

  explicit Pages(Memory& memory) : memory_(memory) {}
  bool read(Address from, std::span<std::byte> into) override;

 private:
  Memory& memory_;
  std::unordered_map<Address, std::array<std::byte, page_bytes>> pages_;
};

}  // namespace toprun::stacks
