#include "bench/measure/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <optional>

#include "base/net/address.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "bench/tables/live_table.h"

namespace toprun::measure {
namespace {

std::optional<std::uint64_t> available_bytes() {
  const auto text = read_file("/proc/meminfo");
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    const auto fields = words(line);  // MemAvailable: 24000000 kB
    if (fields.size() < 2 || fields[0] != "MemAvailable:") continue;
    const auto kib = parse_int(fields[1]);
    return kib ? std::optional(static_cast<std::uint64_t>(*kib) << 10) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<Memory> Memory::of(std::size_t bytes) {
  if (bytes == 0) return Memory(nullptr, 0);
  void* const start =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return fail_errno(fmt::format("a buffer of {}", bench::size_text(bytes)),
                      "measure smaller sizes");
  }
  return Memory(static_cast<std::byte*>(start), bytes);
}

Memory::~Memory() {
  if (start_ != nullptr) ::munmap(start_, bytes_);
}

Result<void> check_memory(std::uint64_t bytes, std::size_t processes) {
  const auto available = available_bytes();
  if (!available || bytes <= *available / processes) return {};
  return usage(
      fmt::format("buffers of {} for each rank on {}", bench::size_text(bytes), hosts::host_name()),
      fmt::format("the host has {} for its {} ranks", bench::size_text(*available), processes),
      "measure smaller sizes, or fewer ranks per node");
}

}  // namespace toprun::measure
