#include "base/process/frames.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace toprun::process {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int) * most_frame_descriptors);

bool ready_within(int socket, short events, std::chrono::milliseconds limit,
                  const Beat& beat = {}) {
  const auto deadline = steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    const auto patience = beat ? std::min(left, beat_interval) : left;
    pollfd waiting{socket, events, 0};
    const int n = ::poll(&waiting, 1, std::max(0, static_cast<int>(patience.count())));
    if (n < 0 && errno == EINTR) continue;
    if (n != 0 || left <= patience) return n > 0;
    beat();
  }
}

std::vector<Fd> take_descriptors(msghdr& header) {
  std::vector<Fd> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  return descriptors;
}

// Reads the requested number of bytes; 0 at the end of the stream, -1 with errno.
ssize_t read_all(int socket, std::span<std::uint8_t> bytes, std::vector<Fd>* descriptors,
                 const Beat& beat) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    if (!ready_within(socket, POLLIN, frame_limit, beat)) {
      errno = ETIMEDOUT;
      return -1;
    }
    alignas(cmsghdr) std::array<char, control_bytes> control{};
    iovec part{bytes.data() + have, bytes.size() - have};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n;
    for (Fd& fd : take_descriptors(header)) {
      if (descriptors != nullptr) descriptors->push_back(std::move(fd));
    }
    have += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(have);
}

Result<void> write_all(int socket, std::span<const std::uint8_t> bytes,
                       std::span<const int> descriptors, const std::string& peer,
                       const Beat& beat) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    if (!ready_within(socket, POLLOUT, frame_limit, beat)) {
      return fail_errno(ETIMEDOUT, peer);
    }
    alignas(cmsghdr) std::array<char, control_bytes> control{};
    iovec part{const_cast<std::uint8_t*>(bytes.data()) + written, bytes.size() - written};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (written == 0 && !descriptors.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* const first = CMSG_FIRSTHDR(&header);
      first->cmsg_level = SOL_SOCKET;
      first->cmsg_type = SCM_RIGHTS;
      first->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(first), descriptors.data(), descriptors.size_bytes());
    }
    // Else it would wait, without a limit, until the socket takes the whole.
    const ssize_t n = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return fail_errno(peer);
    written += static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

bool readable_within(int socket, std::chrono::milliseconds limit, const Beat& beat) {
  return ready_within(socket, POLLIN, limit, beat);
}

bool takes_more(int socket) {
  return ready_within(socket, POLLOUT, std::chrono::milliseconds(0));
}

Result<void> send_frame(int socket, std::span<const std::uint8_t> bytes,
                        std::span<const int> descriptors, const std::string& peer,
                        const Beat& beat) {
  if (bytes.size() > largest_frame_bytes) {
    return fail("cannot pass the arguments and environment to a rank",
                fmt::format("they are {} bytes long", bytes.size()),
                fmt::format("shorten them to at most {} bytes", largest_frame_bytes));
  }
  const std::uint32_t prefix = htonl(static_cast<std::uint32_t>(bytes.size()));
  std::array<std::uint8_t, sizeof prefix> length{};
  std::memcpy(length.data(), &prefix, sizeof prefix);
  auto sent = write_all(socket, length, descriptors, peer, beat);
  if (!sent) return sent;
  return write_all(socket, bytes, {}, peer, beat);
}

Result<std::optional<Frame>> receive_frame(int socket, std::chrono::milliseconds limit,
                                           const std::string& peer, const Beat& beat) {
  if (!ready_within(socket, POLLIN, limit, beat)) return fail_errno(ETIMEDOUT, peer);
  Frame frame;
  std::array<std::uint8_t, sizeof(std::uint32_t)> prefix{};
  const ssize_t n = read_all(socket, prefix, &frame.descriptors, beat);
  if (n == 0) return std::nullopt;
  if (n < 0) return fail_errno(peer);
  std::uint32_t length = 0;
  std::memcpy(&length, prefix.data(), sizeof length);
  length = ntohl(length);
  if (length > largest_frame_bytes) {
    return fail(peer, fmt::format("it sent a frame of {} bytes", length));
  }
  frame.bytes.resize(length);
  const ssize_t got = read_all(socket, frame.bytes, nullptr, beat);
  if (got == 0 && length > 0) return std::nullopt;
  if (got < 0) return fail_errno(peer);
  return frame;
}

}  // namespace toprun::process
