#include "bench/measure/host_buffers.h"

#include <algorithm>

namespace toprun::measure {

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

}  // namespace toprun::measure
