#include "agent/relay.h"

#include <algorithm>

namespace toprun::agent {

std::shared_ptr<Relay> Relay::create(boost::asio::io_context& io, Deliver deliver, bool colours,
                                     std::size_t credit_bytes) {
  return std::shared_ptr<Relay>(new Relay(io, std::move(deliver), colours, credit_bytes));
}

Relay::Relay(boost::asio::io_context& io, Deliver deliver, bool colours, std::size_t credit_bytes)
    : timer_(io), deliver_(std::move(deliver)), colours_(colours), credit_bytes_(credit_bytes) {}

void Relay::write(bool is_err, std::string text) {
  if (text.empty() || !deliver_) return;
  owed_bytes_ += text.size();
  batched_bytes_ += text.size();
  crowded_ = crowded_ || owed_bytes_ >= credit_bytes_;
  if (batches_.empty() || batches_.back().is_err != is_err) {
    batches_.push_back({is_err, std::move(text)});
  } else {
    batches_.back().lines += text;
  }
  if (batched_bytes_ >= batch_bytes) return deliver();
  run_timer();
}

void Relay::run_timer() {
  if (std::exchange(timer_runs_, true)) return;
  timer_.expires_after(gather_time);
  timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto relay = self.lock();
    if (!relay || error) return;
    relay->timer_runs_ = false;
    relay->deliver();
  });
}

void Relay::deliver() {
  batched_bytes_ = 0;
  while (!batches_.empty()) {  // the callback may make room, and that more batches
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    const Deliver deliver = deliver_;  // and it may close this
    deliver(batch.is_err, std::move(batch.lines));
  }
}

void Relay::sent(std::size_t bytes) {
  owed_bytes_ -= std::min(bytes, owed_bytes_);
  const bool relieved = crowded_ && owed_bytes_ <= credit_bytes_ / 2;
  if (relieved) crowded_ = false;
  const bool awaited = idle_awaited_ && owed_bytes_ == 0;
  if (awaited) idle_awaited_ = false;
  if (relieved || awaited) tell();
}

void Relay::close() {
  deliver_ = {};
  batches_.clear();
  sent(owed_bytes_);
}

bool Relay::room(bool) const {
  return !crowded_;
}

bool Relay::idle() {
  idle_awaited_ = owed_bytes_ != 0;
  return !idle_awaited_;
}

}  // namespace toprun::agent
