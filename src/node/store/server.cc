#include "node/store/server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/pool.h"

namespace toprun::store {
namespace {

// What one turn of the loop does at most, so that no client waits long for the others.
constexpr int turn_events = 64;
constexpr std::size_t turn_due = 256;
constexpr std::size_t turn_read_bytes = 64u << 10;  // of one connection
constexpr std::size_t turn_write_bytes = 1u << 20;  // of one connection
constexpr std::size_t turn_sent_bytes = 4u << 20;   // of all together, a few milliseconds
constexpr std::chrono::seconds complaint_interval{1};

// Edge-triggered: the kernel does not look at every socket again that it has just reported, which
// costs a tenth of a request when thousands are busy; and writability needs no system call.
constexpr std::uint32_t connection_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

using AddressOf = int (*)(int, sockaddr*, socklen_t*);

// Of one end of the connection; nullopt if it is broken.
std::optional<hosts::Address> address_of(int fd, AddressOf end) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (end(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  return hosts::Address::from(address);
}

std::string peer_text(int fd) {
  const auto address = address_of(fd, ::getpeername);
  return address ? address->text() : "a client";
}

// Of the client's host; empty: this one.
std::string host_of_peer(int fd) {
  const auto peer = address_of(fd, ::getpeername);
  return peer && peer != address_of(fd, ::getsockname) ? peer->text() : std::string();
}

}  // namespace

struct Server::Connection final : Session {
  Connection(Server& its_server, Fd its_fd, std::uint32_t attempt)
      : Session(attempt), server(its_server), fd(std::move(its_fd)) {}

  void deliver(std::string_view reply) override { owe(reply); }
  void deliver(const Output& message) override { owe(message); }
  void joined(std::uint32_t pid) override { server.note_joined(*this, pid); }
  void met(std::optional<int> rank) override { server.note_met(*this, rank); }
  void alarmed(const hang::Alarm& alarm) override { server.note_alarm(alarm); }

  // It may be owed more by others than it asked for itself; a client that leaves too much of that
  // unread is closed at its next turn.
  template <class Reply>
  void owe(const Reply& reply) {
    if (doomed != Refusal::none) return;
    if (!replies && !output) output = std::make_unique<Output>(server.service_.ledger());
    Output& owed = replies ? *replies : *output;
    if (owed.size() + reply.size() > server.limits_.backlog_bytes + turn_write_bytes) {
      doomed = Refusal::backlog_bytes;
    } else {
      owed.put(reply);
      if (!owed.charge()) doomed = Refusal::total_bytes;
    }
    if (doomed != Refusal::none) owed.clear();
    if (!replies) server.make_due(*this);
  }

  Server& server;
  Fd fd;
  Output* replies = nullptr;       // while requests of this turn are being answered
  std::unique_ptr<Output> output;  // what the socket has not taken; absent if nothing
  Refusal doomed = Refusal::none;  // why it is to be closed, by what others' requests made due
  std::size_t index = 0;           // in connections_
  std::optional<std::list<Connection*>::iterator> undecided;
  std::optional<std::size_t> arrival;  // in arrivals_, if it is a rank's first connection
  bool watched = false;
  bool readable = false;  // by the last signal and what was read since
  bool ended = false;     // the client has closed its side, or the connection is broken
  bool paused = false;    // it has requests to be executed without reading more
  bool due = false;       // stands in due_
  bool gone = false;
};

Server::Server(Fd listener, Fd epoll, Fd event, Clients clients, const Limits& limits,
               Visitor visitor, std::string busy)
    : limits_(limits),
      visitor_(std::move(visitor)),
      acceptor_(std::move(listener), std::move(busy)),
      epoll_(std::move(epoll)),
      event_(std::move(event)),
      service_(clients, limits),
      buffer_(turn_read_bytes) {
  for (int i = 0; i < turn_events; ++i) answers_.push_back({Output(service_.ledger())});
  set_listening(true);
  epoll_event requested{.events = EPOLLIN, .data = {.ptr = &event_}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event_.get(), &requested);
}

Result<std::unique_ptr<Server>> Server::made(Fd listener, Clients clients, const Limits& limits,
                                             Visitor visitor, std::string busy) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("the store cannot start: epoll_create1");
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail_errno("the store cannot start: eventfd");
  return std::unique_ptr<Server>(new Server(std::move(listener), std::move(epoll), std::move(event),
                                            clients, limits, std::move(visitor), std::move(busy)));
}

Result<std::unique_ptr<Server>> Server::start(Fd listener, Clients clients, Limits limits,
                                              Visitor visitor) {
  auto server = made(std::move(listener), clients, limits, std::move(visitor), {});
  if (!server) return server;
  (*server)->start_thread();
  if ((*server)->has_thread()) return server;
  return fail("the store cannot start", "the system cannot start a thread for the store",
              "raise the limits on processes (ulimit -u) and on memory (ulimit -v)");
}

Result<std::unique_ptr<Server>> Server::without_thread(Fd listener, Limits limits, Visitor visitor,
                                                       std::string busy) {
  return made(std::move(listener), Clients::refused, limits, std::move(visitor), std::move(busy));
}

std::optional<std::chrono::milliseconds> Server::take_turn() {
  turn(std::chrono::milliseconds(0));
  return next_turn();
}

void Server::start_thread() {
  auto thread = quiet_thread([this] {
    ::pthread_setname_np(::pthread_self(), thread_name);
    run();
  });
  if (thread) thread_ = std::move(*thread);
}

Server::~Server() {
  command([this] { stopping_ = true; });
  if (has_thread()) {
    thread_.join();
  } else {
    run_commands();
  }
  while (!connections_.empty()) close(*connections_.back());
  work_off_due();
}

void Server::abandon(std::unique_ptr<Server> server) {
  const std::lock_guard lock(server->owner_mutex_);
  server->abandoned_ = true;
  static_cast<void>(server.release());
}

void Server::tell_owner(const std::function<void()>& what) {
  const std::lock_guard lock(owner_mutex_);
  if (!abandoned_) what();
}

void Server::run() {
  while (!stopping_) turn(next_turn());
}

void Server::turn(std::optional<std::chrono::milliseconds> limit) {
  std::array<epoll_event, turn_events> events;
  turn_sent_ = 0;
  const int timeout = limit ? static_cast<int>(limit->count()) : -1;
  const int count = ::epoll_wait(epoll_.get(), events.data(), turn_events, timeout);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == &acceptor_) {
      accept_batch();
    } else if (event.data.ptr == &event_) {
      // Here, since a command may be taken in the turn before the one that it wakes.
      std::uint64_t commands = 0;
      [[maybe_unused]] const ssize_t n = ::read(event_.get(), &commands, sizeof commands);
    } else {
      handle(*static_cast<Connection*>(event.data.ptr), event.events);
    }
  }
  send_answers();
  if (!listening_ && std::chrono::steady_clock::now() >= resume_listening_) set_listening(true);
  work_off_due();
  closed_.clear();
  run_commands();
  untidy_ = tidy();
}

std::optional<std::chrono::milliseconds> Server::next_turn() const {
  if (!due_.empty() || untidy_) return std::chrono::milliseconds(0);
  if (!listening_) return Acceptor::rest;
  return std::nullopt;
}

void Server::set_listening(bool listening) {
  epoll_event requested{.events = EPOLLIN, .data = {.ptr = &acceptor_}};
  ::epoll_ctl(epoll_.get(), listening ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, acceptor_.fd(), &requested);
  listening_ = listening;
}

void Server::accept_batch() {
  if (acceptor_.accept_batch([this](Fd fd) { welcome(std::move(fd)); })) return;
  complain(-1, Refusal::open_files);
  set_listening(false);
  resume_listening_ = std::chrono::steady_clock::now() + Acceptor::rest;
}

void Server::welcome(Fd fd) {
  if (connections_.size() >= limits_.connections) return complain(fd.get(), Refusal::connections);
  connections_.push_back(std::make_unique<Connection>(*this, std::move(fd), service_.attempt()));
  Connection& connection = *connections_.back();
  connection.index = connections_.size() - 1;
  connection.undecided = undecided_.insert(undecided_.end(), &connection);
  if (undecided_.size() > limits_.undecided) close(*undecided_.front());
  // All speak first, and most have spoken by now: a visitor's socket is then never watched here.
  connection.readable = true;
  read(connection);
  if (!connection.gone) watch(connection);
}

void Server::watch(Connection& connection) {
  epoll_event requested{.events = connection_events, .data = {.ptr = &connection}};
  connection.watched =
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.fd.get(), &requested) == 0;
  if (!connection.watched) close(connection);
}

void Server::decided(Connection& connection) {
  if (connection.undecided) undecided_.erase(*connection.undecided);
  connection.undecided.reset();
}

void Server::handle(Connection& connection, std::uint32_t events) {
  if (connection.gone) return;
  if (events & ~static_cast<std::uint32_t>(EPOLLOUT)) connection.readable = true;
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) connection.ended = true;
  // A connection that is due has had its share of the last turn and waits for the others' shares.
  if (connection.due) return;
  if (turn_sent_ < turn_sent_bytes) return serve(connection);
  make_due(connection);
}

// One connection's share of a turn.
void Server::serve(Connection& connection) {
  if (connection.doomed != Refusal::none) {
    refuse(connection, connection.doomed);
  } else if (connection.output) {
    flush(connection);
  } else if (connection.paused) {
    converse(connection, {});
  } else if (connection.readable) {
    read(connection);
  }
}

void Server::read(Connection& connection) {
  const ssize_t length = ::recv(connection.fd.get(), buffer_.data(), buffer_.size(), 0);
  if (length > 0) {
    // A short read has emptied the socket; but its end, once signalled, is not signalled again.
    const auto size = static_cast<std::size_t>(length);
    if (size < buffer_.size() && !connection.ended) connection.readable = false;
    return converse(connection, {buffer_.data(), size});
  }
  if (length < 0 && errno == EINTR) return make_due(connection);
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    connection.readable = false;
    return;
  }
  close(connection);
}

// Executes what has arrived. The connection is owed nothing from before; what it gets is sent with
// the others' of the batch.
void Server::converse(Connection& connection, std::string_view bytes) {
  if (answered_ == answers_.size()) send_answers();
  const bool was_client = connection.is_client();
  Answer& answer = answers_[answered_];
  connection.replies = &answer.replies;
  answer.connection = &connection;
  answer.why = Refusal::none;
  const Service::Turn turn = service_.take(connection, bytes, answer.replies, answer.why);
  connection.paused = turn == Service::Turn::paused;
  if (!was_client && connection.is_client()) {
    decided(connection);
    note_client();
  }
  if (turn == Service::Turn::visitor) {
    connection.replies = nullptr;
    return hand_over(connection);
  }
  ++answered_;
  // Not counted in the ledger until it turns out that the socket does not take it.
  if (answer.replies.size() > turn_write_bytes) send_answers();
}

void Server::send_answers() {
  for (std::size_t i = 0; i < answered_; ++i) {
    Answer& answer = answers_[i];
    Connection& connection = *answer.connection;
    connection.replies = nullptr;
    if (!connection.gone) finish(connection, answer);
    answer.replies.clear();
  }
  answered_ = 0;
}

void Server::finish(Connection& connection, Answer& answer) {
  if (!answer.replies.empty()) {
    const Sent sent = send(connection, answer.replies);
    if (sent == Sent::broken) return close(connection);
    if (sent == Sent::partly) {
      connection.output = std::make_unique<Output>(std::move(answer.replies));
      if (!connection.output->shrink()) connection.doomed = Refusal::total_bytes;
    }
  }
  if (answer.why != Refusal::none) return refuse(connection, answer.why);
  if (connection.doomed != Refusal::none) return refuse(connection, connection.doomed);
  if (!connection.output && (connection.paused || connection.readable)) make_due(connection);
}

void Server::hand_over(Connection& connection) {
  std::string opening = Service::opening(connection);
  if (connection.watched) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.fd.get(), nullptr);
  }
  Fd fd = std::move(connection.fd);
  close(connection);
  if (visitor_) tell_owner([&] { visitor_(std::move(fd), std::move(opening)); });
}

// Sends the replies that the connection has not received yet.
void Server::flush(Connection& connection) {
  const Sent sent = send(connection, *connection.output);
  if (sent == Sent::broken) return close(connection);
  if (sent != Sent::all) return;  // the socket will say when it takes more
  connection.output.reset();
  if (connection.paused || connection.readable) make_due(connection);
}

Server::Sent Server::send(Connection& connection, Output& output) {
  constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  std::array<iovec, 64> pieces;
  const std::size_t count = output.gather(pieces, turn_write_bytes);
  std::size_t offered = 0;
  for (std::size_t i = 0; i < count; ++i) offered += pieces[i].iov_len;
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  // send(2) costs less than sendmsg(2), and nearly every reply is one piece.
  const ssize_t sent =
      count == 1 ? ::send(connection.fd.get(), pieces[0].iov_base, pieces[0].iov_len, flags)
                 : ::sendmsg(connection.fd.get(), &message, flags);
  if (sent < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Sent::partly : Sent::broken;
  }
  turn_sent_ += static_cast<std::size_t>(sent);
  output.consume(static_cast<std::size_t>(sent));
  if (output.empty()) return Sent::all;
  // The kernel would take more at once: it is not going to signal that it does.
  if (static_cast<std::size_t>(sent) == offered) make_due(connection);
  return Sent::partly;
}

void Server::make_due(Connection& connection) {
  if (connection.due) return;
  connection.due = true;
  due_.push_back(&connection);
}

void Server::work_off_due() {
  std::size_t left = stopping_ ? due_.size() : std::min(due_.size(), turn_due);
  for (; left > 0 && (stopping_ || turn_sent_ < turn_sent_bytes); --left) {
    Connection* const connection = due_.front();
    due_.pop_front();
    connection->due = false;
    if (connection->gone) {
      closed_.emplace_back(connection);
      continue;
    }
    serve(*connection);
  }
  send_answers();
}

void Server::refuse(Connection& connection, Refusal why) {
  complain(connection.fd.get(), why);
  close(connection);
}

void Server::close(Connection& connection) {
  if (connection.is_client()) {
    const std::lock_guard lock(mutex_);
    --activity_.connections;
  }
  decided(connection);
  connection.forget();
  std::unique_ptr<Connection> owner = take_out(connection);
  if (connection.due) {
    static_cast<void>(owner.release());  // work_off_due() takes it over
  } else {
    closed_.push_back(std::move(owner));
  }
}

std::unique_ptr<Server::Connection> Server::take_out(Connection& connection) {
  std::unique_ptr<Connection> owner = std::move(connections_[connection.index]);
  if (connection.index + 1 != connections_.size()) {
    connections_[connection.index] = std::move(connections_.back());
    connections_[connection.index]->index = connection.index;
  }
  connections_.pop_back();
  connection.gone = true;
  connection.fd.reset();
  connection.output.reset();
  return owner;
}

// Frees a share of what attempts that have ended left, so that no client waits for gigabytes of it:
// first the waiting and watching clients, one by one, then what was stored. False if nothing was
// left.
bool Server::tidy() {
  if (past_.empty()) return service_.tidy();
  past_.pop_back();
  return true;
}

void Server::complain(int fd, Refusal why) {
  const SteadyTime now = std::chrono::steady_clock::now();
  SteadyTime& last = complained_[static_cast<std::size_t>(why)];
  if (last != SteadyTime() && now - last < complaint_interval) return;
  last = now;
  say(fmt::format("store: closed the connection of {}: {}",
                  fd < 0 ? std::string("new clients") : peer_text(fd), refusal_text(why, limits_)));
}

void Server::note_client() {
  const SteadyTime now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (!activity_.first_connect) activity_.first_connect = now;
  ++activity_.connections;
}

void Server::note_joined(Connection& connection, std::uint32_t pid) {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::string host = host_of_peer(connection.fd.get());
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    connection.arrival = arrivals_.joined(std::move(host), pid, now);
    is_last = connection.arrival && arrivals_.all_joined();
  }
  if (is_last) tell_owner(arrived_);
}

void Server::note_met(const Connection& connection, std::optional<int> rank) {
  if (!connection.arrival) return;
  const SteadyTime now = std::chrono::steady_clock::now();
  bool are_all = false;
  {
    const std::lock_guard lock(mutex_);
    arrivals_.met(*connection.arrival, rank, now);
    are_all = arrivals_.all_met();
  }
  if (are_all) tell_owner(arrived_);
}

// The ranks that hear of the first alarm give their own.
void Server::note_alarm(const hang::Alarm& alarm) {
  const auto alarmed = std::exchange(alarmed_, nullptr);
  if (alarmed) tell_owner([&] { alarmed(alarm); });
}

Server::Activity Server::activity() const {
  const std::lock_guard lock(mutex_);
  return activity_;
}

Server::ArrivalCounts Server::arrival_counts() const {
  const std::lock_guard lock(mutex_);
  return {arrivals_.ranks().size(), arrivals_.met_count()};
}

std::vector<Arrival> Server::arrivals() const {
  const std::lock_guard lock(mutex_);
  return arrivals_.ranks();
}

void Server::next_attempt(Clients clients, Expected expected, std::function<void()> begun) {
  command([this, clients, expected = std::move(expected), begun = std::move(begun)] {
    for (std::size_t i = connections_.size(); i > 0; --i) {
      Connection& connection = *connections_[i - 1];
      if (!connection.is_client()) continue;
      if (connection.due) {
        close(connection);
      } else {
        past_.push_back(take_out(connection));
      }
    }
    service_.next_attempt(clients);
    {
      const std::lock_guard lock(mutex_);
      activity_ = {};
      arrivals_ = Arrivals(expected.ranks);
    }
    arrived_ = expected.arrived;
    alarmed_ = expected.alarmed;
    tell_owner(begun);
  });
  if (clients == Clients::served && !has_thread()) start_thread();
}

// Runs the action on the loop's thread later.
void Server::command(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(action));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(event_.get(), &one, sizeof one);
}

void Server::run_commands() {
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) return;
    commands.swap(commands_);
  }
  for (const std::function<void()>& command : commands) command();
}

}  // namespace toprun::store
