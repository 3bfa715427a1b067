#include "run/simulation/world.h"

// What ranks print and the root shows (--gather-output): delivered bytes use up a credit until the
// root has taken them, and no rank counts as gone before.
namespace toprun::simulation {
namespace {

constexpr std::size_t credit_bytes = 256;
constexpr milliseconds flush_limit{2'000};  // once they were stopped

}  // namespace

void Agent::print(std::size_t bytes) {
  if (!world_.scenario().gathers_output || is_own() || output_is_closed_ || !lives()) return;
  printed_bytes_ += bytes;
  deliver_output();
}

void Agent::deliver_output() {
  const std::size_t now = std::min(printed_bytes_, credit_bytes - outstanding_bytes_);
  if (now == 0 || !lives()) return;
  printed_bytes_ -= now;
  outstanding_bytes_ += now;
  world_.to_root(*this, {std::nullopt, model::OutputLines{false, std::string(now, 'x')}});
}

void Agent::act(const run::CreditOutput& credit) {
  world_.expect(credit.bytes <= outstanding_bytes_, "{}: more output is taken than it has sent",
                host_);
  outstanding_bytes_ -= std::min(outstanding_bytes_, credit.bytes);
  deliver_output();
  if (flushing_ && outstanding_bytes_ == 0) flushed();
}

void Agent::act(const run::CloseOutput&) {
  output_is_closed_ = true;
  printed_bytes_ = outstanding_bytes_ = 0;
  if (flushing_) flushed();
}

void Agent::flush() {
  flushing_ = true;
  if (outstanding_bytes_ == 0) return flushed();
  if (stopping_) flush_in_time();
}

void Agent::flush_in_time() {
  if (!flushing_) return;
  world_.timeline().in(flush_limit, [this, attempt = attempt_] {
    process_.deliver([this, attempt] {
      if (flushing_ && attempt == attempt_) flushed();
    });
  });
}

void Agent::flushed() {
  flushing_ = false;
  on(run::WorkersGone{});
}

}  // namespace toprun::simulation
