#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "store/acceptor.h"
#include "store/server.h"
#include "store/service.h"

namespace toprun::store {

// The server's thread: one epoll set; for each request one read and one write.
//
// A connection whose socket takes no more replies keeps the rest as its `output`; nothing more is
// read from it and none of its requests executed until the socket has taken all of that. One with
// work left over after its share of a turn, or with a reply that another's request made due,
// stands in the queue `due_`.
class Server::Loop {
 public:
  Loop(Fd listener, Fd epoll, Fd event, const Limits& limits, Visitor visitor);
  ~Loop();

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void serve_clients(bool serve);
  void clear();
  Activity activity() const;

 private:
  struct Connection;
  enum class Sent : std::uint8_t { all, partly, broken };
  struct Answer {
    Output replies;
    Connection* connection = nullptr;
    Refusal why = Refusal::none;
  };

  void run();
  int wait_timeout_ms() const;
  void accept_batch();
  void welcome(Fd fd);
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
  std::unique_ptr<Connection> take_out(Connection& connection);
  void close(Connection& connection);
  void close_clients();
  void complain(int fd, Refusal why);
  void note_client();
  void set_listening(bool listening);
  void call(std::function<void()> action);
  void run_commands();

  Limits limits_;
  Visitor visitor_;
  Acceptor acceptor_;
  Fd epoll_;
  Fd event_;
  Service service_;

  std::vector<std::unique_ptr<Connection>> connections_;
  std::list<Connection*> undecided_;  // what they are; the oldest first
  std::vector<std::unique_ptr<Connection>> closed_;  // until the turn ends: events may name them
  std::deque<Connection*> due_;
  std::vector<Answer> answers_;  // of this batch, not sent yet; kept for their buffers
  std::size_t answered_ = 0;     // how many of them are in use
  std::vector<char> buffer_;     // one read
  SteadyTime resume_listening_;
  bool listening_ = true;
  std::array<SteadyTime, refusal_kinds> complained_{};

  mutable std::mutex mutex_;  // of what other threads see
  Activity activity_;
  std::vector<std::function<void()>> commands_;
  bool stopping_ = false;
  std::atomic<std::thread::id> own_thread_;
  std::thread thread_;
};

}  // namespace toprun::store
