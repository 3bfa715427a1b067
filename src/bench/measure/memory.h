#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/text/error.h"
#include "bench/measure/backend.h"
#include "bench/measure/pattern.h"
#include "bench/measure/request.h"

namespace toprun::measure {

// A buffer of zeros. The kernel allocates a page of the buffer when the page is first written.
class Memory {
 public:
  // Allocates the buffer. Error: the kernel refuses this amount of memory.
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

// Checks that `processes` processes of this host can use `bytes` each. Error (exit_usage): the host
// has less available memory than these processes need together (MemAvailable, proc(5)). Without
// this check, the kernel would kill a process during the measurement.
Result<void> check_memory(std::uint64_t bytes, std::size_t processes);

// One rank's buffers in host memory, with the same layout as in nccl-tests.
class HostBuffers {
 public:
  static Result<HostBuffers> of(const Request& request, const RingPosition& ring, std::size_t part);

  const Buffers& buffers(bool in_place) const { return in_place ? inside_ : outside_; }
  const Lengths& lengths() const { return need_; }

 private:
  HostBuffers(Memory send, Memory receive, Memory scratch)
      : send_(std::move(send)), receive_(std::move(receive)), scratch_(std::move(scratch)) {}

  Memory send_;  // also contains the shared buffer for collectives in place
  Memory receive_;
  Memory scratch_;
  Lengths need_;
  Buffers outside_;
  Buffers inside_;
};

// The work of a backend whose buffers are in host memory. Each function blocks until its operation
// is complete.
class HostWork : public Work {
 public:
  HostWork(const Request& request, const RingPosition& ring, HostBuffers memory)
      : request_(request), ring_(ring), memory_(std::move(memory)) {}

  Result<void> fill(bool in_place) final;
  Result<std::vector<double>> run(bool in_place, std::size_t iterations,
                                  std::size_t aggregated) final;
  Result<std::uint64_t> wrong(bool in_place) final;

 protected:
  // Runs one iteration. For Op::avg, once() only computes the sum; HostWork then divides the sum.
  virtual Result<void> once(bool in_place) = 0;

  const Request& request_;
  const RingPosition ring_;
  HostBuffers memory_;

 private:
  Check check() const { return {request_.collective, request_.type, request_.op, ring_}; }
};

}  // namespace toprun::measure
