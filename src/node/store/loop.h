#pragma once

#include <array>
#include <chrono>
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
#include "node/store/acceptor.h"
#include "node/store/arrivals.h"
#include "node/store/server.h"
#include "node/store/service.h"

namespace toprun::store {

// The server's work: one epoll set; for each request one read and one write.
//
// A connection whose socket takes no more replies keeps the rest as its `output`; nothing more is
// read from it and none of its requests executed until the socket has taken all of that. One with
// work left over after its share of a turn, or with a reply that another's request made due,
// stands in the queue `due_`.
class Server::Loop {
 public:
  static constexpr const char* thread_name = "toprun-store";  // for top -H

  Loop(Fd listener, Fd epoll, Fd event, Clients clients, const Limits& limits, Visitor visitor,
       std::string busy);
  ~Loop();

  // Starts the thread; without effect if the system gives none.
  void start();
  bool has_thread() const { return thread_.joinable(); }
  int readiness() const { return epoll_.get(); }
  // Waits for events; no limit: until one comes. Only in the thread, once there is one.
  void turn(std::optional<std::chrono::milliseconds> limit);
  // The time after which there is work without any event.
  std::optional<std::chrono::milliseconds> next_turn() const;
  void abandon();
  void next_attempt(Clients clients, Expected expected, std::function<void()> begun);
  Activity activity() const;
  ArrivalCounts arrival_counts() const;
  std::vector<Arrival> arrivals() const;

 private:
  struct Connection;
  enum class Sent : std::uint8_t { all, partly, broken };
  struct Answer {
    Output replies;
    Connection* connection = nullptr;
    Refusal why = Refusal::none;
  };

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
  std::list<Connection*> undecided_;                 // what they are; the oldest first
  std::vector<std::unique_ptr<Connection>> closed_;  // until the turn ends: events may name them
  std::vector<std::unique_ptr<Connection>> past_;    // of attempts that have ended: see tidy()
  bool untidy_ = false;
  std::deque<Connection*> due_;
  std::size_t turn_sent_ = 0;    // bytes sent in this turn
  std::vector<Answer> answers_;  // of this batch, not sent yet; kept for their buffers
  std::size_t answered_ = 0;     // how many of them are in use
  std::vector<char> buffer_;     // one read
  SteadyTime resume_listening_;
  bool listening_ = true;
  std::array<SteadyTime, refusal_kinds> complained_{};
  std::function<void()> arrived_;
  std::function<void(hang::Alarm)> alarmed_;  // empty: it was called, or no caller wants to know

  std::mutex owner_mutex_;
  bool abandoned_ = false;    // no owner is left to call
  mutable std::mutex mutex_;  // of what other threads see
  Activity activity_;
  Arrivals arrivals_;
  std::vector<std::function<void()>> commands_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace toprun::store
