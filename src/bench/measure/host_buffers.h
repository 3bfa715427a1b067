#pragma once

#include "bench/measure/memory.h"
#include "bench/measure/pattern.h"
#include "bench/measure/request.h"

namespace toprun::measure {

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

}  // namespace toprun::measure
