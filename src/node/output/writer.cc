#include "node/output/writer.h"

#include <unistd.h>

#include <cerrno>

#include <boost/asio/post.hpp>

#include "base/os/fd.h"
#include "base/os/pool.h"

namespace toprun::output {
namespace {

constexpr std::size_t bytes_per_write = 1u << 16;
constexpr std::chrono::milliseconds flush_look{1};

// ECMA-48 and DEC's private mode 7. The cursor rests at the line's beginning: a terminal that gets
// narrower may break the line, and what is erased from there on is all of it.
constexpr std::string_view erase_below = "\r\x1b[J";
constexpr std::string_view no_wrap = "\x1b[?7l";
constexpr std::string_view wrap = "\x1b[?7h\r";

// Errors after which no later write can succeed.
bool is_final(int code) {
  return code == EPIPE || code == EBADF || code == EIO || code == ENXIO;
}

bool contains(const std::vector<int>& fds, int fd) {
  return std::ranges::find(fds, fd) != fds.end();
}

}  // namespace

std::shared_ptr<Writer> Writer::create(boost::asio::io_context& io, Observer observer,
                                       Limits limits, std::atomic<bool>* unfinished) {
  return std::shared_ptr<Writer>(new Writer(io, std::move(observer), limits, unfinished));
}

Writer::Writer(boost::asio::io_context& io, Observer observer, Limits limits,
               std::atomic<bool>* unfinished)
    : io_(io),
      observer_(std::move(observer)),
      limits_(limits),
      unfinished_(unfinished == nullptr ? own_unfinished_ : *unfinished) {}

Writer::~Writer() {
  for (const Chunk& chunk : queue_) {
    if (chunk.close) ::close(chunk.fd);
  }
}

void Writer::write(int fd, std::string bytes, bool begins_line) {
  if (!bytes.empty()) put({fd, false, std::move(bytes), {}, begins_line});
}

void Writer::end_line(int fd) {
  run(fd, [this](int file) {
    if (unfinished_) write_text(file, "\n", false);
    return 0;
  });
}

bool Writer::offer(int fd, std::string bytes, std::size_t most_bytes) {
  std::unique_lock lock(mutex_);
  if (ending_ || pending_bytes_ > most_bytes) return false;
  enqueue({fd, false, std::move(bytes), {}, true}, std::move(lock));
  return true;
}

void Writer::run(int fd, std::function<int(int)> action) {
  put({fd, false, {}, std::move(action)});
}

void Writer::show_below(int fd, std::string line) {
  run(fd, [this, line = std::move(line)](int terminal) {
    const bool shows = !line.empty() && !unfinished_;
    std::string text;
    if (shown_below_ != nowhere) text = erase_below;
    if (shows) text.append(no_wrap).append(line).append(wrap);
    shown_below_ = shows ? terminal : nowhere;
    write_all(terminal, text);
    return 0;
  });
}

void Writer::close(int fd) {
  put({fd, true, {}, {}});
}

void Writer::put(Chunk chunk) {
  enqueue(std::move(chunk), std::unique_lock(mutex_));
}

void Writer::enqueue(Chunk chunk, std::unique_lock<std::mutex> lock) {
  pending_bytes_ += chunk.bytes.size();
  ++pending_chunks_;
  crowded_ = crowded_ || pending_bytes_ > limits_.high_bytes;
  const bool asleep = queue_.empty();
  queue_.push_back(std::move(chunk));
  if (!thread_.joinable() && !start()) return write_queue(lock);
  lock.unlock();  // otherwise the thread would wake up only to wait for the lock
  if (asleep) wake_.notify_one();
}

// Returns false if the system cannot start a thread.
bool Writer::start() {
  // The thread shares ownership of the writer, because a hanging write may outlive its users.
  auto thread = quiet_thread([self = shared_from_this()] { self->work(); });
  if (thread) thread_ = std::move(*thread);
  return thread.has_value();
}

bool Writer::room() const {
  const std::lock_guard lock(mutex_);
  return !crowded_;
}

bool Writer::idle() {
  const std::lock_guard lock(mutex_);
  idle_awaited_ = !is_idle();
  return !idle_awaited_;
}

// A crashing thread may hold the lock, so this must not wait for it.
bool Writer::flush(SteadyTime deadline) {
  for (;;) {
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock && pending_chunks_ == 0) {
      return true;
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(flush_look);
  }
}

// Failures must be reported before the writer counts as idle.
bool Writer::is_idle() const {
  return pending_chunks_ == 0 && unreported_failures_ == 0;
}

void Writer::abandon() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    observer_ = {};
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.detach();
}

void Writer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    write_queue(lock);
  }
}

void Writer::write_queue(std::unique_lock<std::mutex>& lock) {
  std::vector<Chunk> chunks;
  chunks.swap(queue_);
  lock.unlock();
  write_out(chunks);
  lock.lock();
  for (const Chunk& chunk : chunks) pending_bytes_ -= chunk.bytes.size();
  pending_chunks_ -= chunks.size();
  const bool has_room_again = crowded_ && pending_bytes_ < limits_.low_bytes;
  if (has_room_again) crowded_ = false;
  const bool awaited = idle_awaited_ && is_idle();
  if (awaited) idle_awaited_ = false;
  if ((!has_room_again && !awaited) || ending_) return;
  boost::asio::post(io_, [self = weak_from_this()] {
    const auto writer = self.lock();
    if (!writer) return;
    const auto roomy = writer->observer_.roomy;  // the callback may call abandon()
    if (roomy) roomy();
  });
}

// Joins consecutive chunks for the same descriptor into one write, up to bytes_per_write.
void Writer::write_out(const std::vector<Chunk>& chunks) {
  std::string joined;
  for (std::size_t i = 0; i < chunks.size();) {
    const Chunk& first = chunks[i];
    if (!first.is_text()) {
      act(first);
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    joined.clear();
    while (end < chunks.size() && chunks[end].fd == first.fd && chunks[end].is_text() &&
           !chunks[end].begins_line &&
           first.bytes.size() + joined.size() + chunks[end].bytes.size() <= bytes_per_write) {
      if (joined.empty()) joined = first.bytes;
      joined += chunks[end++].bytes;
    }
    write_text(first.fd, end == i + 1 ? first.bytes : joined, first.begins_line);
    i = end;
  }
}

void Writer::write_text(int fd, std::string_view text, bool begins_line) {
  if (shown_below_ != nowhere) write_all(std::exchange(shown_below_, nowhere), erase_below);
  if (begins_line && unfinished_) write_all(fd, "\n");
  unfinished_ = text.back() != '\n';
  write_all(fd, text);
}

void Writer::act(const Chunk& chunk) {
  if (chunk.action) {
    if (const int code = chunk.action(chunk.fd)) report(chunk.fd, code);
    return;
  }
  ::close(chunk.fd);
  std::erase(failed_, chunk.fd);
  std::erase(dead_, chunk.fd);
}

void Writer::write_all(int fd, std::string_view bytes) {
  if (!contains(dead_, fd) && !toprun::write_all(fd, bytes)) report(fd, errno);
}

void Writer::report(int fd, int code) {
  if (is_final(code) && !contains(dead_, fd)) dead_.push_back(fd);
  if (contains(failed_, fd)) return;
  failed_.push_back(fd);
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  ++unreported_failures_;
  boost::asio::post(io_, [self = weak_from_this(), fd, code] {
    if (const auto writer = self.lock()) writer->tell(fd, code);
  });
}

void Writer::tell(int fd, int code) {
  const auto [roomy, failed] = observer_;  // either callback may call abandon()
  if (failed) failed(fd, code);
  bool awaited = false;
  {
    const std::lock_guard lock(mutex_);
    --unreported_failures_;
    awaited = idle_awaited_ && is_idle() && !ending_;
    if (awaited) idle_awaited_ = false;
  }
  if (awaited && roomy) roomy();
}

}  // namespace toprun::output
