#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/clock.h"

namespace toprun::output {

// Writes to file descriptors on a thread of its own, so that a stuck terminal, a full pipe or a
// file server that hangs blocks that thread and never the event loop. The thread starts with the
// first byte; where the system gives none, who writes waits for the write. Callbacks come from the
// io_context's thread.
//
// The caller stops producing while room() is false and goes on at the `roomy` callback; that is
// what bounds memory.
class Writer : public std::enable_shared_from_this<Writer> {
 public:
  // How much may wait: no room above `high`, room again below `low`.
  struct Limits {
    std::size_t high_bytes = 1u << 20;
    std::size_t low_bytes = 1u << 18;
  };

  struct Observer {
    std::function<void()> roomy;  // room() turned true again, or idle() did and was asked for
    std::function<void(int fd, int code)> failed;  // errno; the first time for each descriptor
  };

  // The io_context must stay until abandon().
  static std::shared_ptr<Writer> create(boost::asio::io_context& io, Observer observer,
                                        Limits limits);
  ~Writer();

  // Queues bytes for `fd`. After a failure the bytes are tried again with each write (a disk may
  // have space again), except that a descriptor with no reader left is written to no more.
  void write(int fd, std::string bytes);
  // As write(), from any thread. False: more than `most_bytes` wait already, or nobody writes any
  // more; nothing is queued then.
  bool offer(int fd, std::string bytes, std::size_t most_bytes);
  // Calls `action` on the thread after what is queued for `fd`; an errno that it returns counts as
  // a failed write.
  void run(int fd, std::function<int(int fd)> action);
  // Closes `fd`, which this writer then owns, after what is queued for it.
  void close(int fd);

  bool room() const;
  // True once everything given is written, or has failed and that was told; else roomy() comes when
  // it is.
  bool idle();
  // Waits until everything given is written or has failed; false: it is not by then. From any
  // thread, also from one that dies in a call of this object.
  bool flush(SteadyTime deadline);
  // No more callbacks, and the thread ends at the next chance; what it has not written is lost.
  void abandon();

 private:
  struct Chunk {
    int fd;
    bool close;
    std::string bytes;
    std::function<int(int fd)> action;

    bool is_text() const { return !close && !action; }
  };

  Writer(boost::asio::io_context& io, Observer observer, Limits limits);
  bool start();
  void work();
  void write_queue(std::unique_lock<std::mutex>& lock);
  void put(Chunk chunk);
  void enqueue(Chunk chunk, std::unique_lock<std::mutex> lock);
  void write_out(const std::vector<Chunk>& chunks);
  void act(const Chunk& chunk);
  void write_all(int fd, std::string_view bytes);
  void report(int fd, int code);
  void tell(int fd, int code);
  bool is_idle() const;

  boost::asio::io_context& io_;
  Observer observer_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Chunk> queue_;
  std::size_t pending_bytes_ = 0;
  std::size_t pending_chunks_ = 0;
  int untold_failures_ = 0;  // on their way to the observer
  bool crowded_ = false;
  bool idle_awaited_ = false;
  bool ending_ = false;
  std::thread thread_;
  std::vector<int> failed_;  // descriptors whose failure was told; the thread's own
  std::vector<int> dead_;    // descriptors with nobody at the other end; the thread's own
};

}  // namespace toprun::output
