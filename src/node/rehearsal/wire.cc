#include "node/rehearsal/wire.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "run/model/run_messages.h"

namespace toprun::rehearsal {
using model::Loss;

// As a link::Channel: after close() it receives nothing more, and is closed when the other
// end is, too.
class Wire::End : public model::Link {
 public:
  End(std::shared_ptr<Wire> wire, std::size_t number, boost::asio::io_context& io)
      : io(io), wire_(std::move(wire)), number_(number) {}

  void send(const nlohmann::json& message) override {
    if (closing_ || over_) return;
    if (number_ == 0) wire_->first_says(message);
    wire_->deliver(1 - number_, [message](End& end) { end.heard(message); });
  }
  void close() override {
    if (over_ && on_closed) boost::asio::post(io, std::exchange(on_closed, nullptr));
    if (closing_ || over_) return;
    closing_ = true;
    wire_->deliver(1 - number_, [](End& end) { end.other_closed(); });
  }

  void heard(const nlohmann::json& message) {
    if (closing_ || over_ || !on_message) return;
    if (number_ == 0) wire_->first_hears(message);
    on_message(message);
  }
  void other_closed() {
    if (over_) return;
    over_ = true;
    wire_->deliver(1 - number_, [](End& end) { end.all_closed(); });
    if (on_closed) on_closed();
  }
  void all_closed() {
    if (std::exchange(over_, true)) return;
    if (on_closed) on_closed();
  }
  void lost() {
    if (std::exchange(over_, true)) return;
    if (closing_) {
      if (on_closed) on_closed();
    } else if (on_lost) {
      on_lost({Loss::Kind::closed, "the connection was closed"});
    }
  }

  bool is_open() const { return !closing_ && !over_; }

  boost::asio::io_context& io;

 private:
  const std::shared_ptr<Wire> wire_;
  const std::size_t number_;
  bool closing_ = false;
  bool over_ = false;
};

std::pair<std::shared_ptr<model::Link>, std::shared_ptr<model::Link>> Wire::ends(
    boost::asio::io_context& first, boost::asio::io_context& second) {
  auto one = std::make_shared<End>(shared_from_this(), 0, first);
  auto other = std::make_shared<End>(shared_from_this(), 1, second);
  ends_ = {one, other};
  return {one, other};
}

SteadyTime Wire::arrival(std::size_t at) {
  last_[at] = std::max(last_[at], timeline_.now() + dice_.time(milliseconds(0), slowest_));
  return last_[at];
}

// In the turn of the process that gets it, which may be over by then.
template <class What>
void Wire::deliver(std::size_t to, What what) {
  timeline_.at(arrival(to), [weak = ends_[to], what = std::move(what)] {
    const auto end = weak.lock();
    if (!end) return;
    boost::asio::post(end->io, [weak, what] {
      if (const auto still = weak.lock()) what(*still);
    });
  });
}

void Wire::first_hears(const nlohmann::json& message) {
  const auto said = model::to_root_in(message);
  if (!said || !*said) return;
  const auto* const output = std::get_if<model::OutputLines>(&(*said)->what);
  if (output != nullptr) on_output(output->lines.size());
}

void Wire::first_says(const nlohmann::json& message) {
  const auto said = model::to_node_in(message);
  if (!said || !*said) return;
  if (const auto* const taken = std::get_if<model::Taken>(&**said)) on_taken(taken->bytes);
}

bool Wire::is_open() const {
  return std::ranges::all_of(ends_, [](const auto& weak) {
    const auto end = weak.lock();
    return end && end->is_open();
  });
}

void Wire::lose() {
  for (const std::size_t to : {0u, 1u}) deliver(to, [](End& end) { end.lost(); });
}

}  // namespace toprun::rehearsal
