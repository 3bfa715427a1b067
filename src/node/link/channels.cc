#include "node/link/channels.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include <boost/asio/post.hpp>

#include "node/link/channel.h"

namespace toprun::link {
namespace asio = boost::asio;
namespace {

class LocalLink : public model::Link {
 public:
  explicit LocalLink(boost::asio::io_context& io) : io_(io) {}
  void connect(const std::shared_ptr<LocalLink>& other) { other_ = other; }

  void send(const nlohmann::json& message) override {
    if (closed_) return;
    boost::asio::post(io_, [other = other_, message] {
      const auto end = other.lock();
      if (end && !end->closed_ && end->on_message) end->on_message(message);
    });
  }
  void close() override {
    if (closed_) return;
    closed_ = true;
    if (on_closed) boost::asio::post(io_, on_closed);
  }

 private:
  boost::asio::io_context& io_;
  std::weak_ptr<LocalLink> other_;
  bool closed_ = false;
};

constexpr int turn_events = 128;  // so that the loop's other work does not wait long
constexpr std::size_t most_read_bytes = 64u << 10;
constexpr int passes_per_beat = 2;
// Silence is noticed so soon after its limit, however long a job's beat is.
constexpr std::chrono::milliseconds longest_interval{500};

int new_epoll() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw boost::system::system_error(errno, boost::system::system_category());
  return fd;
}

}  // namespace

std::pair<std::shared_ptr<model::Link>, std::shared_ptr<model::Link>> local_link(
    boost::asio::io_context& io) {
  auto a = std::make_shared<LocalLink>(io);
  auto b = std::make_shared<LocalLink>(io);
  a->connect(b);
  b->connect(a);
  return {a, b};
}

Channels::Channels(asio::io_context& io)
    : service(io), io_(io), epoll_(io, new_epoll()), timer_(io), received_(most_read_bytes) {}

void Channels::shutdown() {
  const auto watched = std::exchange(watched_, {});
  const auto to_write = std::exchange(to_write_, {});
  timer_.cancel();
  boost::system::error_code ignored;
  epoll_.close(ignored);
}

Channels::Number Channels::add(std::shared_ptr<Channel> channel, int fd, std::uint32_t events,
                               std::chrono::milliseconds beat) {
  epoll_event requested{.events = events, .data = {.u64 = ++last_number_}};
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, fd, &requested);
  watched_.emplace(last_number_, std::move(channel));
  if (watched_.size() == 1) wait();
  const auto interval =
      std::clamp(beat / passes_per_beat, std::chrono::milliseconds(1), longest_interval);
  if (watched_.size() == 1 || interval < interval_) {
    interval_ = std::min(interval_, interval);
    pass_later();
  }
  return last_number_;
}

void Channels::change(Number number, int fd, std::uint32_t events) {
  epoll_event requested{.events = events, .data = {.u64 = number}};
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, fd, &requested);
}

void Channels::remove(Number number, int fd) {
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
  watched_.erase(number);
  if (!watched_.empty()) return;
  boost::system::error_code ignored;
  epoll_.cancel(ignored);
  timer_.cancel();
}

void Channels::wait() {
  if (std::exchange(waits_, true)) return;
  epoll_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& error) {
                      if (!error) serve();
                      waits_ = false;
                      if (!watched_.empty()) wait();
                    });
}

void Channels::serve() {
  std::array<epoll_event, turn_events> events;
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), turn_events, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event event = events[static_cast<std::size_t>(i)];
    const Number number = event.data.u64;  // a copy, because the struct is packed
    const auto found = watched_.find(number);
    if (found == watched_.end()) continue;
    const std::shared_ptr<Channel> channel = found->second;
    channel->ready(event.events);
  }
}

void Channels::write_soon(std::shared_ptr<Channel> channel) {
  to_write_.push_back(std::move(channel));
  if (to_write_.size() == 1) asio::post(io_, [this] { write(); });
}

void Channels::write() {
  const auto channels = std::exchange(to_write_, {});
  for (const auto& channel : channels) channel->flush();
}

void Channels::pass_later() {
  next_pass_ = std::chrono::steady_clock::now() + interval_;
  timer_.expires_at(next_pass_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) pass();
  });
}

void Channels::pass() {
  const auto now = std::chrono::steady_clock::now();
  const auto late = now - next_pass_;
  std::vector<std::shared_ptr<Channel>> channels;
  channels.reserve(watched_.size());
  for (const auto& [number, channel] : watched_) channels.push_back(channel);
  for (const auto& channel : channels) channel->pass(now, late);
  if (!watched_.empty()) pass_later();
}

}  // namespace toprun::link
