#pragma once

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "node/rehearsal/script.h"
#include "run/model/messages.h"

namespace toprun::rehearsal {

// A connection between two agents in virtual time. Each direction delivers messages in the order in
// which they were sent. One end may close, or the whole connection may be lost.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  Wire(simulation::Timeline& timeline, Dice dice, milliseconds slowest)
      : timeline_(timeline), dice_(dice), slowest_(slowest) {}

  // Returns both ends, each on its process's event loop. Call ends() only once. The ends keep this
  // object alive.
  std::pair<std::shared_ptr<model::Link>, std::shared_ptr<model::Link>> ends(
      boost::asio::io_context& first, boost::asio::io_context& second);
  // Loses the connection. Both ends detect the loss after a random delay.
  void lose();
  // True if neither end has closed the connection or detected a loss.
  bool is_open() const;
  // Called for workers' output on this connection. on_output gets the number of bytes that the
  // first end has received; on_taken gets the number of bytes that the first end reports as
  // accepted.
  std::function<void(std::size_t bytes)> on_output;
  std::function<void(std::size_t bytes)> on_taken;

 private:
  class End;
  SteadyTime arrival(std::size_t at);
  void first_hears(const nlohmann::json& message);
  void first_says(const nlohmann::json& message);
  template <class What>
  void deliver(std::size_t to, What what);

  simulation::Timeline& timeline_;
  Dice dice_;
  const milliseconds slowest_;
  std::array<std::weak_ptr<End>, 2> ends_;
  std::array<SteadyTime, 2> last_{};
};

}  // namespace toprun::rehearsal
