#include "store/server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "store/loop.h"

namespace toprun::store {

Server::Server(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(Fd listener, Clients clients, Limits limits,
                                              Visitor visitor) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("the store cannot start: epoll_create1");
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail_errno("the store cannot start: eventfd");
  auto loop = std::make_unique<Loop>(std::move(listener), std::move(epoll), std::move(event),
                                     clients, limits, std::move(visitor));
  loop->start();
  return std::unique_ptr<Server>(new Server(std::move(loop)));
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
Server::Came Server::came() const {
  return loop_->came();
}
std::vector<Arrival> Server::arrivals() const {
  return loop_->arrivals();
}

}  // namespace toprun::store
