#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

namespace toprun::rendezvous {

// Why the other end is gone without having closed properly.
struct Loss {
  enum class Kind {
    closed,     // the connection has ended
    silent,     // no word for too long: its host may be cut off, or gone
    malformed,  // it sent what it must not
  } kind = Kind::closed;
  std::string words;
};

// One end of the connection between the root and an agent, whether it crosses a network or not.
// All calls and callbacks are on the io_context's thread. Callbacks never come from inside send().
class Link {
 public:
  virtual ~Link() = default;

  // Queues a message; after close() or a loss it is dropped.
  virtual void send(const nlohmann::json& message) = 0;
  // Ends the connection after what is queued has been sent; of the callbacks only on_closed comes
  // after it.
  virtual void close() = 0;

  std::function<void(nlohmann::json)> on_message;
  // Once, when the other end is gone without having closed properly.
  std::function<void(Loss)> on_lost;
  // Once after close(), when the other end has closed as well or had been lost.
  std::function<void()> on_closed;
};

// Two ends within one process: the root and the agent of its own node.
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> local_link(boost::asio::io_context& io);

}  // namespace toprun::rendezvous
