#include "node/prepare/probes/nvlink_probe.h"

#include <utility>

#include "base/os/timer.h"
#include "base/os/use_nothrow_awaitable.h"
#include "base/process/command.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/nvlink.h"

namespace toprun::probes {
namespace asio = boost::asio;

// nvidia-smi is killed after topology::auto_budget; if the driver hangs, it may survive that.
constexpr std::chrono::milliseconds answer_limit = topology::auto_budget + std::chrono::seconds(1);

struct NvlinkProbe::Asking {
  explicit Asking(asio::io_context& io) : over(io, SteadyTime::max()) {}
  Timer over;
  std::optional<model::ProgramOutput> reported;
};

namespace {

model::ProgramOutput ask(const Environment& environment) {
  auto text = process::output_of(topology::nvlink_command(), environment, topology::auto_budget);
  if (!text) return {{}, text.error().line()};
  if (text->size() > topology::max_evidence_bytes || !topology::is_plain(*text)) {
    return {{}, "nvidia-smi's answer is too long or no plain text"};
  }
  return {*std::move(text), {}};
}

}  // namespace

NvlinkProbe::NvlinkProbe(Pool& pool, const plan::Job& job) {
  if (!job.locates() || !topology::may_have_nvlink_domain()) return;
  asking_ = std::make_shared<Asking>(pool.io());
  pool.run<model::ProgramOutput>(
      answer_limit, [environment = job.environment] { return ask(environment); },
      [asking = asking_](Pool::Answer<model::ProgramOutput> reported) {
        if (reported) {
          asking->reported = *std::move(reported);
        } else if (reported.error() == Pool::NoAnswer::late) {
          asking->reported = {{}, "nvidia-smi does not end: its driver hangs"};
        } else {
          asking->reported = {{}, "nvidia-smi: " + Pool::words_for(reported.error(), answer_limit)};
        }
        asking->over.cancel();
      });
}

asio::awaitable<std::optional<model::ProgramOutput>> NvlinkProbe::answer() const {
  if (!asking_) co_return std::nullopt;
  while (!asking_->reported) co_await asking_->over.async_wait(use_nothrow_awaitable);
  co_return asking_->reported;
}

}  // namespace toprun::probes
