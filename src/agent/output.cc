#include "agent/output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/lines.h"
#include "agent/tail.h"
#include "agent/writer.h"
#include "base/clock.h"
#include "base/console.h"

namespace toprun::agent {
namespace {

using boost::system::error_code;

constexpr mode_t log_file_mode = 0666;  // less the umask

bool same_file(int a, int b) {
  struct stat x {};
  struct stat y {};
  return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// stdout and stderr share one console where they are the same terminal, pipe or file.
struct Console {
  std::shared_ptr<Writer> writer;
  Cursor cursor;
};

struct Stream {
  Stream(boost::asio::io_context& io, std::size_t worker_number)
      : worker(worker_number), pipe(io) {}

  std::size_t worker;
  boost::asio::posix::stream_descriptor pipe;
  bool at_end = false;
  bool resting = false;  // waits for the rest timer
  bool blocked = false;  // a console or file has no room
  bool empty = false;    // the last read found nothing
  SteadyTime last_read{};

  Console* console = nullptr;  // null: not shown
  int console_fd = -1;         // also tells stdout and stderr apart
  std::optional<Lines> lines;
  int file_fd = -1;  // owned by the file writer
};

}  // namespace

struct Output::Impl : std::enable_shared_from_this<Output::Impl> {
  Impl(boost::asio::io_context& context, ConsoleDescriptors descriptors)
      : io(context), fds(descriptors), rest_timer(context), silence_timer(context) {}

  boost::asio::io_context& io;
  ConsoleDescriptors fds;
  std::vector<std::unique_ptr<Console>> consoles;
  Console* out_console = nullptr;
  Console* err_console = nullptr;
  std::shared_ptr<Writer> files;
  std::map<int, std::string> file_names;         // by descriptor
  int file_error_said = 0;                       // errno
  std::vector<std::unique_ptr<Stream>> streams;  // two per worker: stdout, stderr
  std::vector<Tail> tails;
  boost::asio::steady_timer rest_timer;
  bool rest_timer_runs = false;
  boost::asio::steady_timer silence_timer;
  bool silence_timer_runs = false;
  std::function<void()> flushed;
  // While a writer's thread is all that is at work, the io_context must not run out of it.
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
  std::vector<char> buffer = std::vector<char>(read_bytes);

  void open_writers();
  Console* open_console();
  Writer::Observer observer(void (Impl::*failed)(int fd, int code));
  Result<Fd> add_stream(const StreamPlan& plan, Console* console, int console_fd);

  void arm(Stream& stream);
  void serve(Stream& stream);
  void read_some(Stream& stream, int reads);
  bool read_out(Stream& stream);
  void take(Stream& stream, std::string_view bytes);
  void show(Stream& stream, std::string text);
  void end(Stream& stream);
  bool has_room(const Stream& stream) const;

  void run_rest_timer();
  void run_silence_timer(std::chrono::nanoseconds delay);
  void flush_silent();
  void on_room();
  void console_failed(int fd, int code);
  void file_failed(int fd, int code);
  void check_flushed();
  void abandon();
};

Writer::Observer Output::Impl::observer(void (Impl::*failed)(int, int)) {
  return {[weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->on_room();
          },
          [weak = weak_from_this(), failed](int fd, int code) {
            if (const auto self = weak.lock()) ((*self).*failed)(fd, code);
          }};
}

Console* Output::Impl::open_console() {
  consoles.push_back(std::make_unique<Console>());
  consoles.back()->writer = Writer::create(io, observer(&Impl::console_failed));
  return consoles.back().get();
}

void Output::Impl::open_writers() {
  out_console = open_console();
  err_console = same_file(fds.out, fds.err) ? out_console : open_console();
  files = Writer::create(io, observer(&Impl::file_failed));
}

Result<Fd> Output::Impl::add_stream(const StreamPlan& plan, Console* console, int console_fd) {
  auto stream = std::make_unique<Stream>(io, streams.size() / 2);
  if (plan.file) {
    Fd file(::open(plan.file->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, log_file_mode));
    if (!file) {
      return fail_errno("cannot write the log file " + *plan.file,
                        "choose another folder with --log-dir");
    }
    file_names[file.get()] = *plan.file;
    stream->file_fd = file.release();
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) {
    return fail_errno("cannot make a pipe for a worker's output", "raise the limit on open files");
  }
  Fd worker_end(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  ::fcntl(ends[0], F_SETPIPE_SZ, pipe_bytes);
  stream->pipe.assign(ends[0]);
  stream->console_fd = console_fd;
  if (plan.console) {
    stream->console = console;
    stream->lines.emplace(static_cast<int>(streams.size()), plan.prefix, console->cursor);
  }
  streams.push_back(std::move(stream));
  return worker_end;
}

void Output::Impl::arm(Stream& stream) {
  stream.pipe.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [self = weak_from_this(), &stream](const error_code& error) {
                           const auto impl = self.lock();
                           if (impl && !error && !stream.at_end) impl->serve(stream);
                         });
}

void Output::Impl::serve(Stream& stream) {
  read_some(stream, reads_per_round);
  if (stream.at_end) return check_flushed();
  if (stream.blocked) return;  // on_room() goes on
  stream.resting = true;
  run_rest_timer();
}

void Output::Impl::read_some(Stream& stream, int reads) {
  for (; reads > 0 && !stream.at_end; --reads) {
    stream.blocked = !has_room(stream);
    if (stream.blocked) return;
    const ssize_t n = ::read(stream.pipe.native_handle(), buffer.data(), buffer.size());
    stream.empty = n < 0 && errno == EAGAIN;
    if (stream.empty) return;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return end(stream);
    stream.last_read = std::chrono::steady_clock::now();
    take(stream, {buffer.data(), static_cast<std::size_t>(n)});
    if (static_cast<std::size_t>(n) < buffer.size() / 2) return;
  }
}

// All that is in the pipe; false if there was no room for it.
bool Output::Impl::read_out(Stream& stream) {
  // Bounded, for somebody may be writing on and on.
  constexpr int most_reads = 2 * pipe_bytes / static_cast<int>(read_bytes);
  stream.empty = false;
  for (int i = 0; i < most_reads && !stream.at_end && !stream.empty; ++i) {
    read_some(stream, 1);
    if (stream.blocked) return false;
  }
  return true;
}

void Output::Impl::take(Stream& stream, std::string_view bytes) {
  tails[stream.worker].add(stream.console_fd, bytes);
  if (stream.file_fd >= 0) files->write(stream.file_fd, std::string(bytes));
  if (stream.console == nullptr) return;
  show(stream, stream.lines->add(bytes));
  if (stream.lines->holds_back() && !silence_timer_runs) run_silence_timer(unfinished_line_limit);
}

void Output::Impl::show(Stream& stream, std::string text) {
  stream.console->writer->write(stream.console_fd, std::move(text));
}

void Output::Impl::end(Stream& stream) {
  stream.at_end = true;
  stream.blocked = false;
  if (stream.console != nullptr) show(stream, stream.lines->flush());
  if (stream.file_fd >= 0) files->close(std::exchange(stream.file_fd, -1));
  error_code ignored;
  stream.pipe.close(ignored);
}

bool Output::Impl::has_room(const Stream& stream) const {
  return (stream.console == nullptr || stream.console->writer->room()) &&
         (stream.file_fd < 0 || files->room());
}

void Output::Impl::run_rest_timer() {
  if (std::exchange(rest_timer_runs, true)) return;
  rest_timer.expires_after(rest);
  rest_timer.async_wait([self = weak_from_this()](const error_code& error) {
    const auto impl = self.lock();
    if (!impl || error) return;
    impl->rest_timer_runs = false;
    for (const auto& stream : impl->streams) {
      if (std::exchange(stream->resting, false) && !stream->at_end) impl->arm(*stream);
    }
  });
}

void Output::Impl::run_silence_timer(std::chrono::nanoseconds delay) {
  silence_timer_runs = true;
  silence_timer.expires_after(delay);
  silence_timer.async_wait([self = weak_from_this()](const error_code& error) {
    const auto impl = self.lock();
    if (impl && !error) impl->flush_silent();
  });
}

void Output::Impl::flush_silent() {
  silence_timer_runs = false;
  const SteadyTime now = std::chrono::steady_clock::now();
  SteadyTime next = SteadyTime::max();
  for (const auto& stream : streams) {
    if (!stream->lines || !stream->lines->holds_back()) continue;
    const SteadyTime due = stream->last_read + unfinished_line_limit;
    if (due <= now) {
      show(*stream, stream->lines->flush());
    } else {
      next = std::min(next, due);
    }
  }
  if (next != SteadyTime::max()) run_silence_timer(next - now);
}

void Output::Impl::on_room() {
  for (const auto& stream : streams) {
    if (stream->blocked) serve(*stream);
  }
  check_flushed();
}

void Output::Impl::console_failed(int fd, int code) {
  say(fmt::format("cannot write to {}: {}; what ranks print there is dropped, the job goes on",
                  fd == fds.out ? "standard output" : "standard error", errno_text(code)));
}

void Output::Impl::file_failed(int fd, int code) {
  if (std::exchange(file_error_said, code) == code) return;  // the others' disk is full as well
  say(fmt::format("cannot write to {}: {}; the job goes on, its logs have gaps from here",
                  file_names[fd], errno_text(code)));
}

void Output::Impl::check_flushed() {
  if (!flushed) return;
  if (!std::ranges::all_of(streams, [](const auto& stream) { return stream->at_end; })) return;
  for (const auto& console : consoles) {
    // What follows on a terminal, our report or the shell's prompt, starts on a line of its own.
    const int fd = console.get() == out_console ? fds.out : fds.err;
    if (std::exchange(console->cursor.owner, Cursor::nobody) != Cursor::nobody && ::isatty(fd)) {
      console->writer->write(fd, "\n");
    }
    if (!console->writer->idle()) return;
  }
  if (!files->idle()) return;
  work.reset();
  std::exchange(flushed, nullptr)();
}

void Output::Impl::abandon() {
  for (const auto& console : consoles) console->writer->abandon();
  error_code ignored;
  for (const auto& stream : streams) {
    if (stream->file_fd >= 0) files->close(stream->file_fd);
    stream->pipe.close(ignored);
  }
  files->abandon();
  work.reset();
  rest_timer.cancel();
  silence_timer.cancel();
}

Output::Output(boost::asio::io_context& io, ConsoleDescriptors console)
    : impl_(std::make_shared<Impl>(io, console)) {
  impl_->open_writers();
}

Output::~Output() {
  impl_->abandon();
}

Result<Output::Ends> Output::add(const StreamPlan& out, const StreamPlan& err) {
  impl_->tails.emplace_back();
  auto out_end = impl_->add_stream(out, impl_->out_console, impl_->fds.out);
  if (!out_end) return std::unexpected(out_end.error());
  auto err_end = impl_->add_stream(err, impl_->err_console, impl_->fds.err);
  if (!err_end) return std::unexpected(err_end.error());
  return Ends{std::move(*out_end), std::move(*err_end)};
}

void Output::start() {
  for (const auto& stream : impl_->streams) impl_->arm(*stream);
}

bool Output::drain(std::size_t worker) {
  bool all = true;
  for (const std::size_t index : {2 * worker, 2 * worker + 1}) {
    all = impl_->read_out(*impl_->streams[index]) && all;
  }
  return all;
}

std::string_view Output::tail(std::size_t worker) const {
  return impl_->tails[worker].text();
}

void Output::finish(std::function<void()> flushed) {
  const auto self = impl_;  // the callback may destroy this
  self->flushed = std::move(flushed);
  self->work.emplace(self->io.get_executor());
  for (const auto& stream : self->streams) self->read_out(*stream);
  self->check_flushed();
}

void Output::close_held_pipes() {
  const auto self = impl_;
  for (const auto& stream : self->streams) {
    if (!stream->at_end && !stream->blocked) self->end(*stream);
  }
  self->check_flushed();
}

}  // namespace toprun::agent
