#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "store/limits.h"

namespace toprun::store {

// A TCPStore server that any PyTorch client (generations A and C to F of the protocol) can use, on
// a thread of its own.
class Server {
 public:
  // Gets every connection whose first bytes are "toprun/", with what was read of it; called on the
  // server's thread, so it must not block. The descriptor does not block and is close-on-exec.
  using Visitor = std::function<void(Fd connection, std::string first_bytes)>;

  struct Activity {
    // When a store client was first and last recognised in the current attempt.
    std::optional<SteadyTime> first_connect;
    std::optional<SteadyTime> last_connect;
    std::size_t connections = 0;  // store clients connected now
  };

  // `listener` listens and does not block. Without a visitor "toprun/" connections are closed.
  static Result<std::unique_ptr<Server>> start(Fd listener, Limits limits = {},
                                               Visitor visitor = {});
  ~Server();  // closes everything

  // Whether store clients are served. At first they are not: they are closed as soon as they say
  // what they are, visitors never. When it returns, false has closed all clients there were.
  void serve_clients(bool serve);
  // Ends an attempt: closes every client's connection and drops all keys. Done when it returns; a
  // connection accepted before that has not said anything yet is closed if it proves to be a
  // client.
  void clear();
  // These three may be called from any thread, the visitor included.
  Activity activity() const;

 private:
  class Loop;
  explicit Server(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace toprun::store
