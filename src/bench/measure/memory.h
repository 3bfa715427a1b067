#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/text/error.h"

namespace toprun::measure {

// A buffer of zeros. The kernel allocates a page of the buffer when the page is first written.
class Memory {
 public:
  // Error: the kernel refuses this amount of memory.
  static Result<Memory> of(std::size_t bytes);
  Memory(Memory&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory();

  std::byte* get() const { return start_; }

 private:
  Memory(std::byte* start, std::size_t bytes) : start_(start), bytes_(bytes) {}
  std::byte* start_;
  std::size_t bytes_;
};

// Error (exit_usage): `processes` processes of this host need `bytes` each, and less memory is
// available (MemAvailable, proc(5)). Without this check, the kernel would kill a process during the
// measurement.
Result<void> check_memory(std::uint64_t bytes, std::size_t processes);

}  // namespace toprun::measure
