#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "base/os/fd.h"

namespace toprun::stacks {

using Address = std::uint64_t;

// The memory of a process, or bytes that represent it in tests. The memory may change between two
// reads and contain anything, so callers have to check each value.
class Memory {
 public:
  virtual ~Memory() = default;
  // Fills `into`. False: a part of the range is not mapped, or there is no permission to read it.
  // After a failed read, the content of `into` is undefined.
  virtual bool read(Address from, std::span<std::byte> into) = 0;

  template <class T>
  requires std::is_trivially_copyable_v<T> std::optional<T> get(Address from) {
    T value;
    if (!read(from, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }

  // Reads the text at an address up to its 0 byte, at most `most_bytes`. The text is shorter if the
  // mapped memory ends earlier.
  std::string text(Address from, std::size_t most_bytes);
};

// Returns a value within bytes that were read earlier; 0 beyond their end.
template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

// Another process's memory, through process_vm_readv(2), or through /proc/PID/mem if a seccomp
// profile forbids that call. Both ways need the permission to trace the process (ptrace(2), "access
// mode checking"). Neither way stops the process. Reading blocks if a page belongs to a file on a
// server that does not answer.
class ForeignMemory : public Memory {
 public:
  explicit ForeignMemory(pid_t pid) : pid_(pid) {}
  bool read(Address from, std::span<std::byte> into) override;
  // Returns the errno value of the last read that failed; 0: no read has failed.
  int error() const { return error_; }

 private:
  bool read_file(Address from, std::span<std::byte> into);

  pid_t pid_;
  Fd file_;  // /proc/PID/mem, opened once the system call was refused
  int error_ = 0;
};

// A cache of another memory's pages as they were at the first read. One system call reads all
// fields on a page, so that the process has less time to change fields between two reads.
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

// Returns the address of a symbol that a program or library exports. The address is read from the
// image in memory (elf(5): its header at `base`, the dynamic section, DT_GNU_HASH). No file is
// opened, because the file may be deleted, at another path in a container, or on a server that does
// not answer. nullopt: no such symbol, or the image is not 64-bit ELF in this machine's byte order.
std::optional<Address> exported(Memory& memory, Address base, std::string_view symbol);

}  // namespace toprun::stacks
