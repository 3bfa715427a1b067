#include "node/nvlink_probe.h"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "process/command.h"
#include "topology/cloud.h"
#include "topology/nvlink.h"

namespace toprun::node {
namespace asio = boost::asio;

struct NvlinkProbe::Asking {
  explicit Asking(asio::io_context& io) : over(io, SteadyTime::max()) {}
  asio::steady_timer over;
  std::optional<rendezvous::Told> told;
};

namespace {

rendezvous::Told ask(const Environment& environment) {
  auto text = process::output_of(topology::nvlink_command(), environment, topology::auto_budget);
  if (!text) return {{}, text.error().line()};
  if (text->size() > topology::max_evidence_bytes || !topology::is_plain(*text)) {
    return {{}, "nvidia-smi's answer is too long or no plain text"};
  }
  return {*std::move(text), {}};
}

}  // namespace

NvlinkProbe::NvlinkProbe(asio::io_context& io, const plan::Job& job) {
  if (!job.locates() || !topology::may_have_nvlink_domain()) return;
  asking_ = std::make_shared<Asking>(io);
  thread_ = std::thread(
      [asking = asking_, environment = job.environment, work = asio::make_work_guard(io)] {
        rendezvous::Told told = ask(environment);
        asio::post(work.get_executor(), [asking, told = std::move(told)]() mutable {
          asking->told = std::move(told);
          asking->over.cancel();
        });
      });
}

NvlinkProbe::~NvlinkProbe() {
  if (thread_.joinable()) thread_.join();
}

asio::awaitable<std::optional<rendezvous::Told>> NvlinkProbe::answer() const {
  if (!asking_) co_return std::nullopt;
  constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
  while (!asking_->told) co_await asking_->over.async_wait(quietly);
  co_return asking_->told;
}

}  // namespace toprun::node
