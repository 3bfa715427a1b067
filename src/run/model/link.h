#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

namespace toprun::model {

// Why the other end is gone without a proper close.
struct Loss {
  enum class Kind {
    closed,     // the connection has ended
    silent,     // no bytes for too long: its host may be disconnected or down
    malformed,  // the other end sent an invalid message
  } kind = Kind::closed;
  std::string words;
};

// One end of the connection between the root and an agent. The connection runs over a network or
// within one process. All calls and callbacks run on the io_context's thread. send() never calls a
// callback.
class Link {
 public:
  virtual ~Link() = default;

  // Queues a message. After close() or a loss the message is dropped.
  virtual void send(const nlohmann::json& message) = 0;
  // Ends the connection after sending the queued messages. Afterwards only on_closed is called.
  virtual void close() = 0;

  std::function<void(nlohmann::json)> on_message;
  // Called once when the other end is gone without a proper close.
  std::function<void(Loss)> on_lost;
  // Called once after close(), when the other end has closed too or is lost.
  std::function<void()> on_closed;
};

}  // namespace toprun::model
