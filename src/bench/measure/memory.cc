#include "bench/measure/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>

#include "base/net/address.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "bench/tables/live_table.h"
#include "machine/stacks/proc.h"

namespace toprun::measure {
using std::chrono::steady_clock;

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
  const std::string memory = read_file("/proc/meminfo").value_or("");
  const auto available = stacks::labelled_bytes(memory, "MemAvailable");
  if (!available || bytes <= *available / processes) return {};
  return usage(
      fmt::format("buffers of {} for each rank on {}", bench::size_text(bytes), hosts::host_name()),
      fmt::format("the host has {} for its {} ranks", bench::size_text(*available), processes),
      "measure smaller sizes, or fewer ranks per node");
}

Result<HostBuffers> HostBuffers::of(const Request& request, const RingPosition& ring,
                                    std::size_t part) {
  const Lengths need = measure::lengths(request.collective, part, ring.size);
  auto send = TRY(Memory::of(std::max(need.send, need.receive)));
  auto receive = TRY(Memory::of(need.receive));
  auto scratch = TRY(Memory::of(need.scratch));
  HostBuffers made(std::move(send), std::move(receive), std::move(scratch));
  made.need_ = need;
  made.outside_ = {made.send_.get(), made.receive_.get(), made.scratch_.get(), part,
                   facts_of(request.type).bytes};
  const InPlace where = in_place(request.collective, part, ring);
  made.inside_ = made.outside_;
  made.inside_.send = made.send_.get() + where.send;
  made.inside_.receive = made.send_.get() + where.receive;
  return made;
}

Result<void> HostWork::fill(bool in_place) {
  check().fill(memory_.buffers(in_place));
  return {};
}

Result<std::vector<double>> HostWork::run(bool in_place, std::size_t iterations,
                                          std::size_t /*aggregated*/) {
  const bool divides = request_.op == Op::avg && bench::facts_of(request_.collective).reduces;
  std::vector<double> times;
  for (std::size_t i = 0; i < iterations; ++i) {
    const auto began = steady_clock::now();
    TRY(once(in_place));
    if (divides) {
      divide(request_.type, {memory_.buffers(in_place).receive, memory_.lengths().receive},
             ring_.size);
    }
    const std::chrono::duration<double, std::micro> took = steady_clock::now() - began;
    times.push_back(took.count());
  }
  return times;
}

Result<std::uint64_t> HostWork::wrong(bool in_place) {
  return check().wrong(memory_.buffers(in_place));
}

}  // namespace toprun::measure
