#include "base/process/command.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/process/child.h"
#include "base/text/clock.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::process {
namespace {

constexpr std::size_t note_alignment = 4;

std::size_t aligned(std::size_t size) {
  return (size + note_alignment - 1) / note_alignment * note_alignment;
}

// Finds the digest in a sequence of notes.
std::string_view digest_in(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::size_t name = aligned(note.n_namesz);
    const std::size_t description = aligned(note.n_descsz);
    if (name + description > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && notes.starts_with("GNU")) {
      return notes.substr(name, note.n_descsz);
    }
    notes.remove_prefix(name + description);
  }
  return {};
}

// The first object is the program.
int look(dl_phdr_info* object, std::size_t, void* found) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the program's own image
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    const std::string_view digest = digest_in({notes, segment.p_memsz});
    if (!digest.empty()) *static_cast<std::string_view*>(found) = digest;
  }
  return 1;
}

std::string hex(std::string_view digest) {
  std::string text;
  for (const char byte : digest) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// Of all kinds of machines that toprun is built for, numbers have the same order of bytes.
template <class Part>
std::optional<Part> part_at(std::string_view bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Part)) return std::nullopt;
  Part part;
  std::memcpy(&part, bytes.data() + at, sizeof part);
  return part;
}

using Clock = std::chrono::steady_clock;

// Which output is read, and how much of it is kept.
enum class Purpose { answer, telling };

// One output stream of the child, read until its end.
struct Stream {
  Fd fd;
  std::size_t most_kept = std::string::npos;
  std::string text;

  // Returns false at the end of the stream.
  bool read_some() {
    char buffer[65536];
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) {
      fd.reset();
      return false;
    }
    const std::size_t room = most_kept - std::min(most_kept, text.size());
    text.append(buffer, std::min(room, static_cast<std::size_t>(n)));
    return true;
  }
};

// Reads both streams to their ends, or to that of the process; returns the reason if that failed.
std::string collect(Stream& out, Stream& err, const Fd& process, SteadyTime deadline,
                    std::chrono::milliseconds timeout) {
  while (out.fd || err.fd) {
    // The descriptor of a closed stream is -1, which poll ignores.
    std::array<pollfd, 3> polled{pollfd{out.fd ? out.fd.get() : -1, POLLIN, 0},
                                 pollfd{err.fd ? err.fd.get() : -1, POLLIN, 0},
                                 pollfd{process ? process.get() : -1, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const int ready = left.count() <= 0
                          ? 0
                          : ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return errno_text(errno);
    if (ready == 0) return fmt::format("no answer within {}", duration_text(timeout));
    if (ready < 0) continue;
    if (polled[0].revents != 0) out.read_some();
    if (polled[1].revents != 0) err.read_some();
    // What it wrote itself has been read, unless it is more than is kept.
    const bool is_quiet = polled[0].revents == 0 && polled[1].revents == 0;
    const bool is_full = out.text.size() == out.most_kept || err.text.size() == err.most_kept;
    if (polled[2].revents != 0 && (is_quiet || is_full)) return {};
    if (out.text.size() > max_output_bytes || err.text.size() > max_output_bytes) {
      return fmt::format("more than {} bytes of output", max_output_bytes);
    }
  }
  return {};
}

// Readable when the process has ended. Called by its number, because <sys/pidfd.h> of glibc 2.36
// cannot be used from C++.
Fd handle_of(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::string quoted(const std::vector<std::string>& argv) {
  return fmt::format("`{}`", fmt::join(argv, " "));
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

// Without a handle, which kernels before 5.3 do not give.
bool ends_by_asking(pid_t pid, SteadyTime deadline) {
  constexpr std::chrono::milliseconds pause{5};
  while (!has_ended(pid)) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

// Whether the child ends before the deadline; does not reap the child.
bool ends_by(pid_t pid, SteadyTime deadline) {
  const Fd handle = handle_of(pid);
  if (!handle) return ends_by_asking(pid, deadline);
  for (;;) {
    pollfd polled{handle.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    const int ready = ::poll(&polled, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Result<Finished> run_for(Purpose purpose, const std::vector<std::string>& argv,
                         const Environment& environment, std::chrono::milliseconds timeout,
                         std::string_view input) {
  const auto program = find_program(argv[0], environment);
  if (!program) {
    return fail("cannot run " + quoted(argv), argv[0].find('/') == std::string::npos
                                                  ? fmt::format("no {} in PATH", argv[0])
                                                  : argv[0] + " is not an executable file");
  }
  const auto in = TRY(memory_file(input));
  auto out_pipe = TRY(make_pipe());
  auto err_pipe = TRY(make_pipe());
  const auto pid = TRY(start(*program, argv, environment,
                             {.in = in.get(),
                              .out = out_pipe.write.get(),
                              .err = err_pipe.write.get(),
                              .signals = Start::Signals::all_default,
                              .own_group = true}));
  out_pipe.write.reset();
  err_pipe.write.reset();

  const bool is_reported = purpose == Purpose::telling;
  const std::size_t most_kept = is_reported ? max_reported_bytes : std::string::npos;
  Stream out{std::move(out_pipe.read), most_kept, {}};
  Stream err{std::move(err_pipe.read), most_kept, {}};
  const SteadyTime deadline = Clock::now() + timeout;
  std::string trouble = collect(out, err, is_reported ? handle_of(pid) : Fd(), deadline, timeout);
  if (trouble.empty() && !ends_by(pid, deadline)) {
    trouble = fmt::format("still running after {}", duration_text(timeout));
  }
  // This also follows a successful end: processes that the command left in its group must not stay.
  signal_command(pid, SIGKILL);
  const int code = exit_code(await_end(pid));
  if (!trouble.empty()) return fail(quoted(argv) + " failed", trouble);
  return Finished{code, std::move(out.text), std::move(err.text)};
}

constexpr std::size_t longest_line_bytes = 64 * 1024;

}  // namespace

std::string build_id() {
  std::string_view digest;
  ::dl_iterate_phdr(look, &digest);
  return hex(digest);
}

std::string build_id_in(std::string_view head) {
  const auto file = part_at<Elf64_Ehdr>(head, 0);
  if (!file || !head.starts_with(ELFMAG) || file->e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (std::size_t i = 0; i < file->e_phnum; ++i) {
    const auto segment = part_at<Elf64_Phdr>(head, file->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE || segment->p_offset > head.size()) continue;
    const std::string_view digest = digest_in(head.substr(segment->p_offset, segment->p_filesz));
    if (!digest.empty()) return hex(digest);
  }
  return {};
}

std::string search_path(const Environment& environment) {
  return environment.non_empty("PATH").value_or(std::string(default_path));
}

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    return is_executable(name) ? std::optional(name) : std::nullopt;
  }
  const std::string path = search_path(environment);
  for (std::string_view folder : split(path, ':')) {
    if (folder.empty()) folder = ".";
    std::string candidate = fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string this_machine() {
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "";
}

Result<std::filesystem::path> own_path() {
  std::error_code error;
  auto path = std::filesystem::read_symlink(own_program, error);
  if (error) return fail("toprun's own path", error.message(), "mount /proc");
  return path;
}

Result<Fd> memory_file(std::string_view text, const char* name) {
  Fd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file) return fail_errno("cannot make a file in memory");
  if (!write_all(file.get(), text)) return fail_errno("cannot write a file in memory");
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Result<Finished> run(const std::vector<std::string>& argv, const Environment& environment,
                     std::chrono::milliseconds timeout, std::string_view input) {
  return run_for(Purpose::answer, argv, environment, timeout, input);
}

Result<Finished> tell(const std::vector<std::string>& argv, const Environment& environment,
                      std::chrono::milliseconds timeout, std::string_view input) {
  return run_for(Purpose::telling, argv, environment, timeout, input);
}

Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout) {
  auto finished = TRY(run(argv, environment, timeout));
  if (finished.code == 0) return std::move(finished.out);
  const auto reason = complaint(finished.err, 1);
  if (!reason.empty()) return fail(quoted(argv) + " failed", reason.front());
  return fail(quoted(argv) + " failed",
              finished.code > 128 ? fmt::format("killed by signal {}", finished.code - 128)
                                  : fmt::format("exit code {}", finished.code));
}

Result<int> watch(const std::vector<std::string>& argv, const Environment& environment,
                  const std::function<void(std::string_view line)>& on_line) {
  const auto program = find_program(argv.front(), environment);
  if (!program) {
    const bool is_path = argv.front().contains('/');
    return fail("cannot run " + argv.front(),
                is_path ? "there is no such program" : "no such program in PATH");
  }
  auto pipe = TRY(make_pipe());
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int output = pipe.write.get();
  const auto pid = start(*program, argv, environment, {nothing.get(), output, output});
  pipe.write.reset();
  if (!pid) return std::unexpected(pid.error());
  read_lines(pipe.read.get(), longest_line_bytes, on_line);
  return exit_code(await_end(*pid));
}

}  // namespace toprun::process
