#include "node/output/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/os/read_buffer.h"
#include "base/os/timer.h"
#include "base/process/child.h"
#include "node/output/folding.h"
#include "node/output/lines.h"
#include "node/output/log_files.h"
#include "node/output/worker_pipes.h"

namespace toprun::output {
namespace {

using boost::system::error_code;

// The amount to read from one pipe before the others have their turn.
struct Portion {
  int reads;
  std::size_t bytes;
  bool past_limits;
};
constexpr Portion round{Output::reads_per_round, Output::read_bytes, false};
constexpr Portion turn{1, Output::turn_bytes, false};

struct Stream {
  Stream(std::size_t number, bool err) : index(number), worker(number / 2), is_err(err) {}

  std::size_t index;  // among all streams
  std::size_t worker;
  bool is_err;
  Fd pipe;                                      // or the near end of a terminal
  std::size_t read_bytes = Output::read_bytes;  // the most that one read returns
  int terminal = Console::no_terminal;  // the terminal whose size this stream's terminal copies
  bool at_end = false;
  bool resting = false;  // waits for the rest timer
  bool blocked = false;  // a console or file has no room
  bool empty = false;    // the last read found nothing
  SteadyTime last_read{};

  LogFiles::File file = LogFiles::no_file;
  bool shown = false;
  Lines lines;
  std::optional<Display>
      display;  // for lines shown at once; if unset and shown, lines are folded as `rank`
  int rank = 0;
  std::optional<Filter> filter;
};

}  // namespace

struct Output::Impl : std::enable_shared_from_this<Output::Impl> {
  Impl(boost::asio::io_context& context, OutputPlan output_plan)
      : io(context), plan(std::move(output_plan)), rest_timer(context), silence_timer(context) {}

  boost::asio::io_context& io;
  const OutputPlan plan;
  std::shared_ptr<Readable> readable;
  std::optional<LogFiles> files;
  std::optional<Folding> folding;
  std::optional<LogFiles::File> filtered_files[2];  // stdout's, stderr's; unset: not opened yet
  std::vector<std::unique_ptr<Stream>> streams;     // two per worker: stdout, stderr
  std::size_t turns = 0;
  std::vector<Tail> tails;
  Timer rest_timer;
  bool rest_timer_runs = false;
  Timer silence_timer;
  std::optional<SteadyTime> silence_due;  // the time for which the timer is set
  std::function<void()> flushed;
  // Keeps the io_context running while only a writer's thread is working.
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
  ReadBuffer buffer{read_bytes};

  void open();
  Result<Fd> make_ends(const StreamPlan& stream_plan, Stream& stream);
  Result<Fd> make_pipe(Stream& stream);
  Result<void> watch(Stream& stream);
  Result<Fd> add_stream(const StreamPlan& stream_plan, bool is_err);
  Result<void> open_files(const StreamPlan& stream_plan, Stream& stream);
  void show_on_console(const StreamPlan& stream_plan, Stream& stream);

  void serve_ready(Stream& stream);
  void serve(Stream& stream, const Portion& portion);
  bool read_some(Stream& stream, const Portion& portion);
  bool read_out(Stream& stream, bool past_limits = false);
  std::chrono::milliseconds silence_limit_of(const Stream& stream) const;
  void take(Stream& stream, std::string_view bytes);
  void pass_on(Stream& stream, std::string lines);
  void write_filtered(const Stream& stream, const std::string& lines);
  void end(Stream& stream);
  bool has_room(const Stream& stream) const;
  void in_turn(const std::function<void(Stream&)>& act);

  void run_rest_timer();
  void run_silence_timer(SteadyTime due);
  void flush_silent();
  void on_room();
  void check_flushed();
  void abandon();
};

void Output::Impl::open() {
  const auto roomy = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_room();
  };
  files.emplace(io, plan.log_max_bytes, roomy);
  if (plan.fold) folding.emplace(io, plan.console);
  plan.console->listen(this, roomy);
}

Result<Fd> Output::Impl::add_stream(const StreamPlan& stream_plan, bool is_err) {
  auto stream = std::make_unique<Stream>(streams.size(), is_err);
  TRY(open_files(stream_plan, *stream));
  auto worker_end = make_ends(stream_plan, *stream);
  if (!worker_end) return worker_end;
  TRY(watch(*stream));
  if (stream_plan.console) show_on_console(stream_plan, *stream);
  streams.push_back(std::move(stream));
  return worker_end;
}

// Falls back to a pipe if no terminal is available.
Result<Fd> Output::Impl::make_ends(const StreamPlan& stream_plan, Stream& stream) {
  const int terminal = plan.console->terminal(stream.is_err);
  if (!stream_plan.as_terminal || terminal == Console::no_terminal) return make_pipe(stream);
  auto pty = open_pty(terminal);
  if (!pty) return make_pipe(stream);
  stream.pipe = std::move(pty->ours);
  stream.read_bytes = pty_read_bytes;
  stream.terminal = terminal;
  return std::move(pty->workers);
}

Result<Fd> Output::Impl::make_pipe(Stream& stream) {
  auto pipe = TRY(process::make_pipe());
  ::fcntl(pipe.read.get(), F_SETPIPE_SZ, pipe_bytes);
  stream.pipe = std::move(pipe.read);
  return std::move(pipe.write);
}

Result<void> Output::Impl::watch(Stream& stream) {
  ::fcntl(stream.pipe.get(), F_SETFL, O_NONBLOCK);
  if (!readable) {
    auto created = TRY(Readable::create(io, [weak = weak_from_this()](std::size_t index) {
      const auto self = weak.lock();
      if (self && !self->streams[index]->at_end) self->serve_ready(*self->streams[index]);
    }));
    readable = created;
  }
  return readable->add(stream.pipe.get());
}

Result<void> Output::Impl::open_files(const StreamPlan& stream_plan, Stream& stream) {
  if (stream_plan.file) {
    stream.file = TRY(files->open(*stream_plan.file, stream_plan.opened));
  }
  const FilteredFile& filtered = stream.is_err ? plan.filtered_err : plan.filtered_out;
  if (filtered.path.empty()) return {};
  auto& opened = filtered_files[stream.is_err];
  if (!opened) {  // torchrun creates the file even if no stream is filtered
    opened = TRY(files->open(filtered.path, filtered.opened));
  }
  if (stream_plan.filtered) stream.filter.emplace(filtered.needles, stream_plan.prefix);
  return {};
}

void Output::Impl::show_on_console(const StreamPlan& stream_plan, Stream& stream) {
  stream.shown = true;
  stream.rank = stream_plan.rank;
  if (folding) return folding->join(stream.is_err, stream.rank);
  const bool colours = !stream_plan.prefix.empty() && plan.console->shows_colours(stream.is_err);
  stream.display.emplace(
      plan.console->new_source(),
      colours ? coloured(stream_plan.prefix, stream_plan.colour) : stream_plan.prefix,
      plan.console->cursor(stream.is_err));
}

// While the worker's other stream rests, it may have text that is older than this: that comes
// first. The last worker lacks its stderr if no descriptor was left for it.
void Output::Impl::serve_ready(Stream& stream) {
  const std::size_t index = stream.index ^ 1;
  Stream* const other = index < streams.size() ? streams[index].get() : nullptr;
  if (other != nullptr && other->resting && !other->at_end) read_some(*other, turn);
  serve(stream, round);
}

void Output::Impl::serve(Stream& stream, const Portion& portion) {
  const bool found = read_some(stream, portion);
  if (stream.at_end) return check_flushed();
  if (stream.blocked) return;  // on_room() continues
  // A terminal's buffer is too small to let it fill during a pause.
  const bool rests = found && stream.terminal == Console::no_terminal;
  if (!rests) return readable->arm(stream.pipe.get(), stream.index);
  stream.resting = true;
  run_rest_timer();
}

// Returns whether there was any text.
bool Output::Impl::read_some(Stream& stream, const Portion& portion) {
  bool found = false;
  for (int reads = portion.reads; reads > 0 && !stream.at_end; --reads) {
    stream.blocked = !portion.past_limits && !has_room(stream);
    if (stream.blocked) return found;
    const ssize_t n = ::read(stream.pipe.get(), buffer.data(), portion.bytes);
    stream.empty = n < 0 && errno == EAGAIN;
    if (stream.empty) return found;
    if (n < 0 && errno == EINTR) continue;
    found = true;
    if (n <= 0) {
      end(stream);
      return found;
    }
    stream.last_read = SteadyClock::now();
    take(stream, {buffer.data(), static_cast<std::size_t>(n)});
    if (static_cast<std::size_t>(n) < std::min(portion.bytes, stream.read_bytes) / 2) return found;
  }
  return found;
}

// Reads all of the pipe; false if there was no room for it.
bool Output::Impl::read_out(Stream& stream, bool past_limits) {
  // Bounded, because a process may keep writing.
  const int most_reads = 2 * pipe_bytes / static_cast<int>(stream.read_bytes);
  const bool was_blocked = stream.blocked;
  stream.empty = false;
  for (int i = 0; i < most_reads && !stream.at_end && !stream.empty; ++i) {
    read_some(stream, {1, read_bytes, past_limits});
    if (stream.blocked) return false;
  }
  stream.blocked = was_blocked && !stream.at_end;  // no other event would resume reading
  return true;
}

void Output::Impl::take(Stream& stream, std::string_view bytes) {
  tails[stream.worker].add(stream.is_err ? Tail::Source::err : Tail::Source::out, bytes);
  if (stream.file != LogFiles::no_file) files->write(stream.file, bytes);
  if (!stream.shown && !stream.filter) return;
  pass_on(stream, stream.lines.add(bytes));
  if (!stream.lines.holds_back()) return;
  const SteadyTime due = stream.last_read + silence_limit_of(stream);
  if (!silence_due || due < *silence_due) run_silence_timer(due);
}

std::chrono::milliseconds Output::Impl::silence_limit_of(const Stream& stream) const {
  return stream.terminal == Console::no_terminal ? unfinished_line_limit
                                                 : unfinished_line_limit_of_terminal;
}

void Output::Impl::pass_on(Stream& stream, std::string lines) {
  if (lines.empty()) return;
  if (stream.filter) write_filtered(stream, stream.filter->add(lines));
  if (!stream.shown) return;
  if (!stream.display) return folding->add(stream.is_err, stream.rank, lines);
  plan.console->write(stream.is_err, stream.display->compose(std::move(lines)));
}

void Output::Impl::write_filtered(const Stream& stream, const std::string& lines) {
  if (!lines.empty()) files->write(*filtered_files[stream.is_err], lines);
}

void Output::Impl::end(Stream& stream) {
  stream.at_end = true;
  stream.blocked = false;
  pass_on(stream, stream.lines.flush());
  if (stream.filter) write_filtered(stream, stream.filter->flush());
  if (stream.shown && !stream.display) folding->leave(stream.is_err, stream.rank);
  if (stream.file != LogFiles::no_file) files->close(std::exchange(stream.file, LogFiles::no_file));
  readable->remove(stream.pipe.get());
  stream.pipe.reset();
}

bool Output::Impl::has_room(const Stream& stream) const {
  const bool writes = stream.file != LogFiles::no_file || stream.filter;
  return (!stream.shown || plan.console->room(stream.is_err)) && (!writes || files->room());
}

// Starts at another worker each time, so that no worker is always served first. Of a worker stdout
// comes first: what it has printed stands before the traceback that ends it.
void Output::Impl::in_turn(const std::function<void(Stream&)>& act) {
  const std::size_t workers = tails.size();
  const std::size_t first = workers == 0 ? 0 : 2 * (turns++ % workers);
  for (std::size_t i = 0; i < streams.size(); ++i) act(*streams[(first + i) % streams.size()]);
}

void Output::Impl::run_rest_timer() {
  if (std::exchange(rest_timer_runs, true)) return;
  rest_timer.expires_after(rest);
  rest_timer.async_wait([self = weak_from_this()](const error_code& error) {
    const auto impl = self.lock();
    if (!impl || error) return;
    impl->rest_timer_runs = false;
    impl->in_turn([&](Stream& stream) {
      if (std::exchange(stream.resting, false) && !stream.at_end) impl->serve(stream, round);
    });
  });
}

void Output::Impl::run_silence_timer(SteadyTime due) {
  silence_due = due;
  silence_timer.expires_at(due);
  silence_timer.async_wait([self = weak_from_this()](const error_code& error) {
    const auto impl = self.lock();
    if (impl && !error) impl->flush_silent();
  });
}

void Output::Impl::flush_silent() {
  silence_due.reset();
  const SteadyTime now = SteadyClock::now();
  SteadyTime next = SteadyTime::max();
  for (const auto& stream : streams) {
    if (!stream->lines.holds_back()) continue;
    const SteadyTime due = stream->last_read + silence_limit_of(*stream);
    if (due <= now) {
      pass_on(*stream, stream->lines.flush());
    } else {
      next = std::min(next, due);
    }
  }
  if (next != SteadyTime::max()) run_silence_timer(next);
}

void Output::Impl::on_room() {
  in_turn([this](Stream& stream) {
    if (stream.blocked) serve(stream, turn);
  });
  check_flushed();
}

void Output::Impl::check_flushed() {
  if (!flushed) return;
  if (!std::ranges::all_of(streams, [](const auto& stream) { return stream->at_end; })) return;
  plan.console->end_line();  // for toprun's report or the shell's prompt
  if (!plan.console->idle() || !files->idle()) return;
  work.reset();
  std::exchange(flushed, nullptr)();
}

void Output::Impl::abandon() {
  plan.console->ignore(this);
  if (readable) readable->close();
  for (const auto& stream : streams) {
    stream->at_end = true;
    stream->blocked = false;
    stream->lines.flush();
    stream->pipe.reset();
  }
  files.reset();
  folding.reset();
  work.reset();
  rest_timer.cancel();
  silence_timer.cancel();
}

Output::Output(boost::asio::io_context& io, OutputPlan plan)
    : impl_(std::make_shared<Impl>(io, std::move(plan))) {
  impl_->open();
}

Output::~Output() {
  impl_->abandon();
}

Result<Output::Ends> Output::add(const StreamPlan& out, const StreamPlan& err) {
  impl_->tails.emplace_back();
  auto out_end = TRY(impl_->add_stream(out, false));
  auto err_end = TRY(impl_->add_stream(err, true));
  return Ends{std::move(out_end), std::move(err_end)};
}

void Output::start() {
  for (const auto& stream : impl_->streams) {
    impl_->readable->arm(stream->pipe.get(), stream->index);
  }
}

bool Output::drain(std::size_t worker, bool past_limits) {
  bool all = true;
  for (const std::size_t index : {2 * worker, 2 * worker + 1}) {
    all = impl_->read_out(*impl_->streams[index], past_limits) && all;
  }
  return all;
}

const Tail& Output::tail(std::size_t worker) const {
  return impl_->tails[worker];
}

std::optional<SteadyTime> Output::last_read(std::size_t worker) const {
  const SteadyTime last =
      std::max(impl_->streams[2 * worker]->last_read, impl_->streams[2 * worker + 1]->last_read);
  return last == SteadyTime{} ? std::nullopt : std::optional(last);
}

void Output::resize() {
  for (const auto& stream : impl_->streams) {
    const bool shown = stream->terminal != Console::no_terminal && stream->pipe;
    if (shown) copy_window_size(stream->terminal, stream->pipe.get());
  }
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

}  // namespace toprun::output
