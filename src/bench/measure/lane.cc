#include "bench/measure/lane.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace toprun::measure {
namespace {

// A block is combined while it is still in the processor's cache.
constexpr std::size_t block_bytes = 256u << 10;

std::size_t total(const auto& pieces) {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.bytes;
  return bytes;
}

// A lane under way.
class Course {
 public:
  Course(const Lane& lane, Combine combine, std::size_t element_bytes)
      : lane_(lane),
        combine_(combine),
        element_bytes_(element_bytes),
        out_left_(total(lane.out)),
        in_left_(total(lane.in)) {
    const bool combines =
        std::ranges::any_of(lane.in, [](const Incoming& in) { return in.operand != nullptr; });
    if (combines) scratch_.resize(std::min(block_bytes, in_left_));
  }

  bool ended() const { return out_left_ == 0 && in_left_ == 0; }
  bool waits_to_send() const { return sendable() > 0; }
  bool waits_to_receive() const { return in_left_ > 0; }
  std::size_t received() const { return in_done_; }
  const Lane& lane() const { return lane_; }

  // Bytes that moved; 0: the socket would block.
  Result<std::size_t> send_some() {
    while (out_piece_ < lane_.out.size() && lane_.out[out_piece_].bytes == out_offset_) {
      ++out_piece_;
      out_offset_ = 0;
    }
    if (sendable() == 0) return std::size_t{0};
    const Outgoing& piece = lane_.out[out_piece_];
    const std::size_t bytes = std::min({piece.bytes - out_offset_, sendable(), block_bytes});
    const ssize_t sent =
        ::send(lane_.out_socket, piece.source + out_offset_, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return refusal("sending to " + lane_.to);
    const auto moved = static_cast<std::size_t>(sent);
    out_offset_ += moved;
    out_left_ -= moved;
    out_done_ += moved;
    return moved;
  }

  Result<std::size_t> receive_some() {
    while (in_piece_ < lane_.in.size() && lane_.in[in_piece_].bytes == in_offset_) {
      ++in_piece_;
      in_offset_ = 0;
    }
    if (in_left_ == 0) return std::size_t{0};
    const Incoming& piece = lane_.in[in_piece_];
    return piece.operand == nullptr ? receive_copied(piece) : receive_combined(piece);
  }

 private:
  std::size_t sendable() const {
    if (lane_.head == Lane::no_wait) return out_left_;
    return std::min(out_left_, lane_.head + in_done_ - out_done_);
  }

  static Result<std::size_t> refusal(const std::string& what) {
    if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
    return fail_errno(what);
  }

  Result<std::size_t> receive(std::byte* target, std::size_t bytes) {
    const ssize_t got = ::recv(lane_.in_socket, target, bytes, MSG_DONTWAIT);
    if (got < 0) return refusal("receiving from " + lane_.from);
    if (got == 0) return fail("receiving from " + lane_.from, "connection closed by peer");
    return static_cast<std::size_t>(got);
  }

  Result<std::size_t> receive_copied(const Incoming& piece) {
    auto got = receive(piece.target + in_offset_, std::min(piece.bytes - in_offset_, block_bytes));
    if (got) place(*got);
    return got;
  }

  // An element may arrive in two parts; the first waits in scratch_.
  Result<std::size_t> receive_combined(const Incoming& piece) {
    const std::size_t left = piece.bytes - in_offset_ - pending_;
    const std::size_t room = std::min(left, scratch_.size() - pending_);
    const auto got = TRY(receive(scratch_.data() + pending_, room));
    pending_ += got;
    const std::size_t elements = pending_ / element_bytes_;
    const std::size_t whole = elements * element_bytes_;
    combine_(scratch_.data(), piece.operand + in_offset_, piece.target + in_offset_, elements);
    pending_ -= whole;
    std::memmove(scratch_.data(), scratch_.data() + whole, pending_);
    place(whole);
    return got;
  }

  void place(std::size_t bytes) {
    in_offset_ += bytes;
    in_left_ -= bytes;
    in_done_ += bytes;
  }

  const Lane& lane_;
  const Combine combine_;
  const std::size_t element_bytes_;
  std::size_t out_left_;
  std::size_t in_left_;
  std::size_t out_done_ = 0;
  std::size_t in_done_ = 0;
  std::size_t out_piece_ = 0;
  std::size_t out_offset_ = 0;
  std::size_t in_piece_ = 0;
  std::size_t in_offset_ = 0;
  std::size_t pending_ = 0;  // bytes of scratch_ that are not combined yet
  std::vector<std::byte> scratch_;
};

std::string text_of(std::chrono::milliseconds limit) {
  const auto ms = limit.count();
  return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000) : fmt::format("{} ms", ms);
}

std::unexpected<Error> stalled(std::span<const Course> courses, std::chrono::milliseconds limit) {
  std::string waiting;
  for (const Course& course : courses) {
    if (course.ended()) continue;
    waiting = course.waits_to_receive() ? "waiting for bytes from " + course.lane().from
                                        : course.lane().to + " takes no more bytes";
    break;
  }
  return fail(waiting, fmt::format("no data was transferred for {}", text_of(limit)));
}

// Waits until one of the sockets is ready; false: none was within the limit.
Result<bool> wait(std::span<const Course> courses, std::vector<pollfd>& requested,
                  std::chrono::milliseconds limit) {
  requested.clear();
  for (const Course& course : courses) {
    if (course.waits_to_receive()) requested.push_back({course.lane().in_socket, POLLIN, 0});
    if (course.waits_to_send()) requested.push_back({course.lane().out_socket, POLLOUT, 0});
  }
  const int ready = ::poll(requested.data(), requested.size(), static_cast<int>(limit.count()));
  if (ready < 0 && errno != EINTR) return fail_errno("poll");
  return ready != 0;
}

// Bytes that the sockets took and gave without waiting.
Result<std::size_t> move_some(std::vector<Course>& courses) {
  std::size_t moved = 0;
  for (Course& course : courses) {
    const auto received = TRY(course.receive_some());
    const auto sent = TRY(course.send_some());
    moved += received + sent;
  }
  return moved;
}

void note(std::span<const Course> courses, Arrival& arrival) {
  const auto now = std::chrono::steady_clock::now();
  std::size_t received = 0;
  for (const Course& course : courses) received += course.received();
  if (!arrival.mark && received >= arrival.mark_bytes) arrival.mark = now;
  if (!arrival.all && std::ranges::none_of(courses, &Course::waits_to_receive)) arrival.all = now;
}

}  // namespace

Result<void> transfer(std::span<const Lane> lanes, Combine combine, std::size_t element_bytes,
                      std::chrono::milliseconds stall_limit, Arrival* arrival) {
  std::vector<Course> courses;
  courses.reserve(lanes.size());
  for (const Lane& lane : lanes) courses.emplace_back(lane, combine, element_bytes);
  std::vector<pollfd> requested;
  while (!std::ranges::all_of(courses, &Course::ended)) {
    const auto moved = TRY(move_some(courses));
    if (arrival != nullptr) note(courses, *arrival);
    if (moved > 0) continue;
    const auto ready = TRY(wait(courses, requested, stall_limit));
    if (!ready) return stalled(courses, stall_limit);
  }
  return {};
}

}  // namespace toprun::measure
