#include "node/store/server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "node/store/loop.h"

namespace toprun::store {

Server::Server(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::made(Fd listener, Clients clients, const Limits& limits,
                                             Visitor visitor, std::string busy) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("the store cannot start: epoll_create1");
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail_errno("the store cannot start: eventfd");
  auto loop = std::make_unique<Loop>(std::move(listener), std::move(epoll), std::move(event),
                                     clients, limits, std::move(visitor), std::move(busy));
  return std::unique_ptr<Server>(new Server(std::move(loop)));
}

Result<std::unique_ptr<Server>> Server::start(Fd listener, Clients clients, Limits limits,
                                              Visitor visitor) {
  auto server = made(std::move(listener), clients, limits, std::move(visitor), {});
  if (!server) return server;
  (*server)->loop_->start();
  if ((*server)->has_thread()) return server;
  return fail("the store cannot start", "the system gives the store no thread",
              "raise the limits on processes (ulimit -u) and on memory (ulimit -v)");
}

Result<std::unique_ptr<Server>> Server::without_thread(Fd listener, Limits limits, Visitor visitor,
                                                       std::string busy) {
  return made(std::move(listener), Clients::refused, limits, std::move(visitor), std::move(busy));
}

bool Server::has_thread() const {
  return loop_->has_thread();
}
int Server::readiness() const {
  return loop_->readiness();
}
std::optional<std::chrono::milliseconds> Server::take_turn() {
  loop_->turn(std::chrono::milliseconds(0));
  return loop_->next_turn();
}

void Server::abandon(std::unique_ptr<Server> server) {
  server->loop_->abandon();
  static_cast<void>(server->loop_.release());
}

void Server::next_attempt(Clients clients, Expected expected, std::function<void()> begun) {
  loop_->next_attempt(clients, std::move(expected), std::move(begun));
}
Server::Activity Server::activity() const {
  return loop_->activity();
}
Server::ArrivalCounts Server::arrival_counts() const {
  return loop_->arrival_counts();
}
std::vector<Arrival> Server::arrivals() const {
  return loop_->arrivals();
}

}  // namespace toprun::store
