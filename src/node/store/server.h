#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/os/fd.h"
#include "base/os/read_buffer.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "decide/hang/alarm.h"
#include "node/store/acceptor.h"
#include "node/store/arrivals.h"
#include "node/store/service.h"

namespace toprun::store {

// A TCPStore server for any PyTorch client (generations A and C to F of the protocol). The server
// runs an event loop. When the server serves clients, its own thread runs the loop's iterations.
// Before the server serves clients, the server's owner runs the iterations.
//
// The loop uses one epoll set, and one read and one write for each request. If a connection's
// socket accepts no more replies, the unsent replies stay in the connection's `output`. Until the
// socket has accepted all of the output, the loop reads no data and executes no requests from this
// connection. A connection is in the queue `due_` in two cases: it has work left after its share of
// an iteration, or it gets a reply because of another connection's request.
class Server {
 public:
  static constexpr const char* thread_name = "toprun-store";  // the name that top -H shows

  // The visitor function receives every connection of another agent of toprun. Such a connection
  // begins with "toprun/"; the function also gets the bytes that were already read. Called in an
  // iteration of the loop, so it must not block. The descriptor is non-blocking and close-on-exec.
  using Visitor = std::function<void(Fd connection, std::string first_bytes)>;

  struct Activity {
    // The time when a store client was first recognised in the current attempt.
    std::optional<SteadyTime> first_connect;
    std::size_t connections = 0;  // store clients connected now
  };

  // The ranks of an attempt. The callbacks are called in an iteration of the server's loop, so they
  // must not block. `arrived` is called when the last rank has connected, and again when the last
  // rank has reached its first collective. `alarmed` is called when a rank first reports that it
  // has stopped waiting for other ranks.
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
  // the server has no thread, the owner must call take_turn() whenever readiness() is readable, and
  // after the time that the last call of take_turn() returned. Most nodes never serve a store and
  // have connections only from visitors. Each visitor would wake two threads if the server had its
  // own thread. If the process has no free descriptor for a visitor, the visitor receives `busy`
  // before its connection is closed.
  static Result<std::unique_ptr<Server>> without_thread(Fd listener, Limits limits, Visitor visitor,
                                                        std::string busy = {});
  bool has_thread() const { return thread_.joinable(); }
  int readiness() const { return epoll_.get(); }
  std::optional<std::chrono::milliseconds> take_turn();

  ~Server();  // closes everything and frees all data of clients
  // Gives up the server of a process that is about to end. Does not wait and does not free memory,
  // because the kernel frees gigabytes faster than this process frees single keys. The visitor
  // function is not called any more.
  static void abandon(std::unique_ptr<Server> server);

  // Ends an attempt and begins the next. Closes every client's connection, drops all keys, and then
  // serves or refuses later clients. Connections that have not sent any bytes yet stay open, but
  // are closed if they turn out to be clients. Does not wait. Calls `begun` in an iteration of the
  // loop once all this is done.
  void next_attempt(Clients clients, Expected expected, std::function<void()> begun);
  // The next three functions may be called from any thread and from the visitor function.
  Activity activity() const;
  ArrivalCounts arrival_counts() const;
  std::vector<Arrival> arrivals() const;  // in the order of joining

 private:
  struct Connection;
  enum class Sent : std::uint8_t { all, partly, broken };
  struct Answer {
    Output replies;
    Connection* connection = nullptr;
    Refusal why = Refusal::none;
  };

  Server(Fd listener, Fd epoll, Fd event, Clients clients, const Limits& limits, Visitor visitor,
         std::string busy);
  static Result<std::unique_ptr<Server>> made(Fd listener, Clients clients, const Limits& limits,
                                              Visitor visitor, std::string busy);
  void start_thread();  // has no effect if the system cannot start a thread
  // Runs one iteration: waits for events for at most `limit` (nullopt: no limit) and handles them.
  // Once the server's thread has started, only that thread may call this function.
  void turn(std::optional<std::chrono::milliseconds> limit);
  // Returns the time after which the loop has work even without an event. nullopt: there is no such
  // time.
  std::optional<std::chrono::milliseconds> next_turn() const;
  void run();
  void accept_batch();
  void welcome(Fd fd);
  void watch(Connection& connection);
  void decided(Connection& connection);
  void handle(Connection& connection, std::uint32_t events);
  void serve(Connection& connection);
  void read(Connection& connection);
  void converse(Connection& connection, std::string_view bytes);
  void send_answers();
  void finish(Connection& connection, Answer& answer);
  void hand_over(Connection& connection);
  void flush(Connection& connection);
  Sent send(Connection& connection, Output& output);
  void work_off_due();
  void make_due(Connection& connection);
  void refuse(Connection& connection, Refusal why);
  void close(Connection& connection);
  std::unique_ptr<Connection> take_out(Connection& connection);
  bool tidy();
  void complain(int fd, Refusal why);
  void note_client();
  void note_joined(Connection& connection, std::uint32_t pid);
  void note_met(const Connection& connection, std::optional<int> rank);
  void note_alarm(const hang::Alarm& alarm);
  void set_listening(bool listening);
  void tell_owner(const std::function<void()>& what);
  void command(std::function<void()> action);
  void run_commands();

  Limits limits_;
  Visitor visitor_;
  Acceptor acceptor_;
  Fd epoll_;
  Fd event_;
  Service service_;

  std::vector<std::unique_ptr<Connection>> connections_;
  std::list<Connection*> undecided_;  // connections of unknown type; the oldest first
  // Closed connections, which are kept until the iteration ends, because events may refer to them.
  std::vector<std::unique_ptr<Connection>> closed_;
  // Connections from attempts that have ended, which are freed bit by bit. See tidy().
  std::vector<std::unique_ptr<Connection>> past_;
  bool untidy_ = false;
  std::deque<Connection*> due_;
  std::size_t turn_sent_ = 0;  // bytes sent in this iteration
  // Replies to clients that the server sends together at the end of a batch of events. The entries
  // are kept to reuse their buffers.
  std::vector<Answer> answers_;
  std::size_t answered_ = 0;  // number of entries of answers_ in use
  ReadBuffer buffer_;         // the data of one read
  SteadyTime resume_listening_;
  bool listening_ = true;
  std::array<SteadyTime, refusal_kinds> complained_{};
  std::function<void()> arrived_;
  std::function<void(hang::Alarm)> alarmed_;  // empty: already called, or not requested

  std::mutex owner_mutex_;
  bool abandoned_ = false;    // the owner must not be called any more
  mutable std::mutex mutex_;  // protects the data that other threads access
  Activity activity_;
  Arrivals arrivals_;
  std::vector<std::function<void()>> commands_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace toprun::store
