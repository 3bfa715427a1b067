#include "node/prepare/stage/wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace toprun::stage {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds between_looks{200};  // whether the run is over
constexpr std::size_t input_bytes = std::size_t{256} << 10;
constexpr std::size_t most_queued_bytes = std::size_t{256} << 10;

std::unexpected<Error> broken(std::string_view why) {
  return fail("the connection", std::string(why));
}

}  // namespace

std::string encode(const Head& head) {
  std::string out;
  put(out, static_cast<std::uint32_t>(head.kind));
  put(out, head.length);
  put(out, head.number);
  return out;
}

std::optional<Head> decode_head(std::string_view bytes) {
  Reader reader(bytes);
  const auto kind = reader.number<std::uint32_t>();
  const auto length = reader.number<std::uint32_t>();
  const auto number = reader.number<std::uint64_t>();
  const bool is_known = kind >= static_cast<std::uint32_t>(Record::proof) &&
                        kind <= static_cast<std::uint32_t>(Record::end);
  if (!is_known || reader.is_short()) return std::nullopt;
  return Head{static_cast<Record>(kind), length, number};
}

Wire::Wire(Fd socket, Waits waits, std::function<bool()> stopped, std::string input)
    : socket_(std::move(socket)),
      waits_(waits),
      stopped_(std::move(stopped)),
      input_(std::move(input)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  const int yes = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Result<Wire> Wire::connect(const hosts::Address& address, int port, Waits waits,
                           std::function<bool()> stopped) {
  Fd socket = hosts::begin_to_connect(address, port);
  if (!socket) return fail_errno("cannot connect to " + address.text());
  Wire wire(std::move(socket), waits, std::move(stopped));
  TRY(wire.await(POLLOUT, waits.connect));
  const int code = hosts::connection_error(wire.socket_);
  if (code != 0) return fail_errno(code, "cannot connect to " + address.text());
  return wire;
}

Result<void> Wire::await(short events, milliseconds limit) const {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!stopped_()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return broken(fmt::format("silent for {} s", limit.count() / 1000));
    pollfd waiting{socket_.get(), events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, between_looks).count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail_errno("the connection");
  }
  return broken("the run is over");
}

Result<void> Wire::fill() {
  if (used_ == input_.size()) input_.clear();
  input_.erase(0, used_);
  used_ = 0;
  const std::size_t before = input_.size();
  input_.resize(input_bytes);
  while (true) {
    const ssize_t n = ::recv(socket_.get(), input_.data() + before, input_.size() - before, 0);
    input_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0) return {};
    if (n == 0) return broken("closed by the other end");
    if (errno != EAGAIN && errno != EINTR) return fail_errno("the connection");
    if (auto there = await(POLLIN, waits_.silence); !there) return there;
    input_.resize(input_bytes);
  }
}

Result<std::string> Wire::read_line(std::size_t most_bytes) {
  while (true) {
    const std::size_t end = input_.find('\n', used_);
    if (end != std::string::npos) {
      std::string line = input_.substr(used_, end - used_);
      used_ = end + 1;
      return line;
    }
    if (input_.size() - used_ > most_bytes) return broken("it does not speak toprun's protocol");
    TRY(fill());
  }
}

Result<void> Wire::read(char* bytes, std::size_t size) {
  const std::size_t taken = std::min(size, input_.size() - used_);
  std::memcpy(bytes, input_.data() + used_, taken);
  used_ += taken;
  bytes += taken;
  size -= taken;
  while (size > 0) {
    if (size < input_bytes / 4) {
      if (auto filled = fill(); !filled) return filled;
      return read(bytes, size);
    }
    const ssize_t n = ::recv(socket_.get(), bytes, size, 0);
    if (n == 0) return broken("closed by the other end");
    if (n > 0) {
      bytes += n;
      size -= static_cast<std::size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      return fail_errno("the connection");
    } else if (auto there = await(POLLIN, waits_.silence); !there) {
      return there;
    }
  }
  return {};
}

Result<Head> Wire::read_head() {
  char bytes[head_bytes];
  TRY(read(bytes, sizeof bytes));
  const auto head = decode_head({bytes, sizeof bytes});
  if (!head) return broken("it does not speak toprun's protocol");
  return *head;
}

Result<void> Wire::send(std::string_view bytes) {
  output_ += bytes;
  std::string_view rest = output_;
  while (!rest.empty()) {
    const ssize_t n = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EAGAIN && errno != EINTR) {
      return fail_errno("the connection");
    } else if (auto there = await(POLLOUT, waits_.send); !there) {
      return there;
    }
  }
  output_.clear();
  return {};
}

Result<void> Wire::send(const Head& head, std::string_view bytes) {
  output_ += encode(head);
  return send(bytes);
}

Result<void> Wire::queue(const Head& head, std::string_view bytes) {
  output_ += encode(head);
  output_ += bytes;
  return output_.size() < most_queued_bytes ? Result<void>() : flush();
}

Result<void> Wire::send_file(const Head& head, int file, std::uint64_t offset) {
  if (auto sent = send(head, {}); !sent) return sent;
  auto at = static_cast<off_t>(offset);
  const off_t end = at + static_cast<off_t>(head.length);
  while (at < end) {
    const ssize_t n = ::sendfile(socket_.get(), file, &at, static_cast<std::size_t>(end - at));
    if (n == 0) return broken("the file is shorter than it was");
    if (n > 0) continue;
    if (errno != EAGAIN && errno != EINTR) return fail_errno("the connection");
    if (auto there = await(POLLOUT, waits_.send); !there) return there;
  }
  return {};
}

bool Wire::is_closed() const {
  char byte;
  const ssize_t n = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace toprun::stage
