#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/text/clock.h"

namespace toprun::output {

// Writes to file descriptors on a separate thread. So a stuck terminal, a full pipe or a hanging
// file server blocks only this thread, never the event loop. The thread starts with the first byte;
// if the system cannot start a thread, the caller writes and blocks. Callbacks run on the
// io_context's thread.
//
// The caller stops producing output while room() is false and continues at the `roomy` callback, so
// memory is limited.
class Writer : public std::enable_shared_from_this<Writer> {
 public:
  // The queue limits: room() becomes false above `high_bytes` and true again below `low_bytes`.
  struct Limits {
    std::size_t high_bytes = 1u << 20;
    std::size_t low_bytes = 1u << 18;
  };

  struct Observer {
    // Called when room() became true again, or when idle() became true after it was false.
    std::function<void()> roomy;
    std::function<void(int fd, int code)> failed;  // `code` is an errno; called once per descriptor
  };

  // The io_context must exist until abandon(). `unfinished`: a flag (base/os/console.h) that the
  // writer sets while the text written so far ends within a line; null: the writer uses its own
  // flag.
  static std::shared_ptr<Writer> create(boost::asio::io_context& io, Observer observer,
                                        Limits limits, std::atomic<bool>* unfinished = nullptr);
  ~Writer();

  // Queues bytes for `fd`. After a failed write, the writer still tries to write later bytes,
  // because a disk may have space again. But after the reader of a pipe has closed it, nothing more
  // is written to the pipe. With `begins_line`, the bytes start on a new line, even if the text
  // before them has no line end.
  void write(int fd, std::string bytes, bool begins_line = false);
  // Adds a line end if the text so far ends within a line.
  void end_line(int fd);
  // Like write(), but callable from any thread. The bytes start on a new line, even if the text
  // before them has no line end. Returns false and queues nothing if more than `most_bytes` are
  // waiting to be written, or after abandon().
  bool offer(int fd, std::string bytes, std::size_t most_bytes);
  // Calls `action` on the writer's thread after the bytes queued for `fd` are written. If `action`
  // returns an errno, this counts as a failed write.
  void run(int fd, std::function<int(int fd)> action);
  // Shows `line` below the text on the terminal `fd`, instead of the previous such line. An empty
  // `line` removes the previous line. The line is erased before any text is written, and is not
  // shown while the last line of text is unfinished.
  void show_below(int fd, std::string line);
  // Closes `fd` after the bytes queued for it are written. This writer owns `fd` from the call to
  // close() on.
  void close(int fd);

  bool room() const;
  // True once all bytes are written, or have failed and the failure was reported. If false, roomy()
  // is called when idle() becomes true.
  bool idle();
  // Waits until all bytes are written or have failed; returns false at the deadline. May be called
  // from any thread, even from a thread that is crashing inside a method of this object.
  bool flush(SteadyTime deadline);
  // Stops the callbacks and ends the thread as soon as possible; unwritten bytes are lost.
  void abandon();

 private:
  struct Chunk {
    int fd;
    bool close;
    std::string bytes;
    std::function<int(int fd)> action;
    bool begins_line = false;

    bool is_text() const { return !close && !action; }
  };

  Writer(boost::asio::io_context& io, Observer observer, Limits limits,
         std::atomic<bool>* unfinished);
  bool start();
  void work();
  void write_queue(std::unique_lock<std::mutex>& lock);
  void put(Chunk chunk);
  void enqueue(Chunk chunk, std::unique_lock<std::mutex> lock);
  void write_out(const std::vector<Chunk>& chunks);
  void act(const Chunk& chunk);
  void write_text(int fd, std::string_view text, bool begins_line);
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
  int unreported_failures_ = 0;  // not yet reported to the observer
  bool crowded_ = false;
  bool idle_awaited_ = false;
  bool ending_ = false;
  std::thread thread_;
  std::vector<int> failed_;  // descriptors whose failure was reported; used only by the thread
  std::vector<int> dead_;    // descriptors whose reader is closed; used only by the thread
  // shown_below_: the descriptor of the terminal on which show_below() currently shows a line, or
  // `nowhere`. Only the writer's thread uses it.
  static constexpr int nowhere = -1;
  int shown_below_ = nowhere;
  std::atomic<bool> own_unfinished_{false};
  std::atomic<bool>& unfinished_;  // true: the text so far does not end with \n
};

}  // namespace toprun::output
