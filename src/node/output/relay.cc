#include "node/output/relay.h"

#include <algorithm>

namespace toprun::output {

std::shared_ptr<Relay> Relay::create(boost::asio::io_context& io, Deliver deliver, bool colours,
                                     std::size_t credit_bytes) {
  return std::shared_ptr<Relay>(new Relay(io, std::move(deliver), colours, credit_bytes));
}

Relay::Relay(boost::asio::io_context& io, Deliver deliver, bool colours, std::size_t credit_bytes)
    : timer_(io), deliver_(std::move(deliver)), colours_(colours), credit_bytes_(credit_bytes) {}

std::size_t Relay::credit_among(std::size_t relays) {
  return std::clamp(total_credit_bytes / std::max<std::size_t>(relays, 1), least_credit_bytes,
                    default_credit_bytes);
}

void Relay::write(bool is_err, std::string text) {
  if (text.empty() || !deliver_) return;
  outstanding_bytes_ += text.size();
  batched_bytes_ += text.size();
  crowded_ = crowded_ || outstanding_bytes_ >= credit_bytes_;
  if (batches_.empty() || batches_.back().is_err != is_err) {
    batches_.push_back({is_err, std::move(text)});
  } else {
    batches_.back().lines += text;
  }
  if (batched_bytes_ >= batch_bytes) {
    due_ = true;
    return deliver();
  }
  run_timer();
}

void Relay::run_timer() {
  if (std::exchange(timer_runs_, true)) return;
  timer_.expires_after(gather_time);
  timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto relay = self.lock();
    if (!relay || error) return;
    relay->timer_runs_ = false;
    relay->due_ = true;
    relay->deliver();
  });
}

void Relay::deliver() {
  while (!batches_.empty()) {  // the callback may make room, and new text may add batches
    const bool is_err = batches_.front().is_err;
    std::string lines = take_deliverable();
    if (lines.empty()) return;         // sent() continues
    const Deliver deliver = deliver_;  // the callback may close this
    deliver(is_err, std::move(lines));
  }
  due_ = false;
}

// The part of the first batch that the credit covers, in whole lines if possible. A line longer
// than the whole credit is delivered once no other bytes are outstanding.
std::string Relay::take_deliverable() {
  std::string& lines = batches_.front().lines;
  const std::size_t there = outstanding_bytes_ - batched_bytes_;
  const std::size_t credit = credit_bytes_ - std::min(there, credit_bytes_);
  std::size_t size = lines.size();
  if (size > credit) {
    size = credit == 0 ? 0 : lines.rfind('\n', credit - 1) + 1;  // npos + 1 is 0
    if (size == 0 && there == 0) size = std::min(lines.find('\n'), lines.size() - 1) + 1;
  }
  std::string taken = lines.substr(0, size);
  lines.erase(0, size);
  if (lines.empty()) batches_.pop_front();
  batched_bytes_ -= size;
  return taken;
}

void Relay::sent(std::size_t bytes) {
  outstanding_bytes_ -= std::min(bytes, outstanding_bytes_ - batched_bytes_);
  if (due_) deliver();
  const bool has_room_again = crowded_ && outstanding_bytes_ <= credit_bytes_ / 2;
  if (has_room_again) crowded_ = false;
  const bool awaited = idle_awaited_ && outstanding_bytes_ == 0;
  if (awaited) idle_awaited_ = false;
  if (has_room_again || awaited) notify();
}

void Relay::close() {
  deliver_ = {};
  batches_.clear();
  batched_bytes_ = 0;
  sent(outstanding_bytes_);
}

bool Relay::room(bool) const {
  return !crowded_;
}

bool Relay::idle() {
  idle_awaited_ = outstanding_bytes_ != 0;
  return !idle_awaited_;
}

}  // namespace toprun::output
