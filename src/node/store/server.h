#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/os/fd.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "decide/hang/alarm.h"
#include "node/store/arrivals.h"
#include "node/store/limits.h"

namespace toprun::store {

// A TCPStore server for any PyTorch client (generations A and C to F of the protocol). The server
// has an event loop. When the server serves clients, its own thread runs the loop's iterations.
// Before the server serves clients, the server's owner runs the iterations.
class Server {
 public:
  // Receives every connection whose first bytes are "toprun/", together with the bytes that were
  // read. The visitor function is called in an iteration, so it must not block. The descriptor is
  // non-blocking and close-on-exec.
  using Visitor = std::function<void(Fd connection, std::string first_bytes)>;

  struct Activity {
    // The time when a store client was first recognised in the current attempt.
    std::optional<SteadyTime> first_connect;
    std::size_t connections = 0;  // store clients connected now
  };

  // The ranks of an attempt. The callbacks are called in an iteration, so they must not block.
  // `arrived` is called when the last rank has joined, and again when the last rank has reached its
  // first collective. `alarmed` is called when a rank first reports that it has stopped waiting.
  struct Expected {
    std::size_t ranks = 0;
    std::function<void()> arrived = {};
    std::function<void(hang::Alarm)> alarmed = {};
  };

  struct ArrivalCounts {
    std::size_t joined = 0;
    std::size_t met = 0;
  };

  // `listener` must be a non-blocking listening socket. Without a visitor function, "toprun/"
  // connections are closed.
  static Result<std::unique_ptr<Server>> start(Fd listener, Clients clients, Limits limits = {},
                                               Visitor visitor = {});
  // Starts a server that refuses clients and has no thread until next_attempt() starts one. While
  // the server has no thread, the owner must call take_turn() whenever readiness() is readable. The
  // owner must also call take_turn() after the time that the last call of take_turn() returned. The
  // reason is that most nodes never serve a store. While nodes join, all connections are from
  // visitors; with a separate thread, each visitor would wake two threads. If there is no
  // descriptor for a visitor, the visitor receives `busy` before its connection is closed.
  static Result<std::unique_ptr<Server>> without_thread(Fd listener, Limits limits, Visitor visitor,
                                                        std::string busy = {});
  bool has_thread() const;
  int readiness() const;
  std::optional<std::chrono::milliseconds> take_turn();

  ~Server();  // closes everything and frees all data of clients
  // For a process that is about to end. Does not wait and does not free memory: the kernel frees
  // gigabytes faster than this process frees single keys. The visitor function is not called any
  // more.
  static void abandon(std::unique_ptr<Server> server);

  // Ends an attempt and begins the next. Closes every client's connection, drops all keys, and
  // serves or refuses later clients. Connections that have not sent any bytes yet stay open, but
  // are closed if they turn out to be clients. Does not wait. `begun` is called in an iteration.
  void next_attempt(Clients clients, Expected expected, std::function<void()> begun);
  // The next three functions may be called from any thread and from the visitor function.
  Activity activity() const;
  ArrivalCounts arrival_counts() const;
  std::vector<Arrival> arrivals() const;  // in the order of joining

 private:
  class Loop;
  explicit Server(std::unique_ptr<Loop> loop);
  static Result<std::unique_ptr<Server>> made(Fd listener, Clients clients, const Limits& limits,
                                              Visitor visitor, std::string busy);
  std::unique_ptr<Loop> loop_;
};

}  // namespace toprun::store
