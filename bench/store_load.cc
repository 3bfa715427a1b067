// A closed-loop load for a TCPStore server: one thread, one request outstanding per connection,
// every reply checked. Prints one line of JSON.
//
//   store_load PORT CONNECTIONS OPERATION SECONDS PID
//       OPERATION: get add check set+ping. PID is the server's: its CPU is measured.
//   store_load PORT CONNECTIONS connect 0 PID
//       all connect at once, say hello and wait for the answer; then all stay idle until stdin ends
//   store_load PORT CONNECTIONS latency SECONDS PID
//       a get on each healthy connection every 5 ms while others do what they like: the slowest
//       reply, and the most CPU that the server used between a get and its reply (which a machine
//       that is busy with other programs does not change)
//
// Connections come from 127.0.0.1 to 127.0.0.8 in turn, so that ephemeral ports do not run out.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t value_bytes = 64;
constexpr int source_addresses = 8;
constexpr std::string_view handshake{"\x00\xCE\xF7\x85\x3C", 5};
constexpr std::string_view ping{"\x0d\x01\x02\x03\x04", 5};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "store_load: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

std::string u64(std::uint64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}
std::string counted(std::string_view bytes) {
  return u64(bytes.size()) + std::string(bytes);
}

// CPU that all threads of a process have used, in nanoseconds.
std::uint64_t cpu_ns(int pid) {
  std::uint64_t total = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(task.path() / "schedstat");
    std::uint64_t running = 0;
    if (file >> running) total += running;
  }
  return total;
}

std::uint64_t resident_bytes(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Operation {
  std::string request;
  std::size_t reply_bytes = 0;
  std::string reply;  // exact, if not empty
};

struct Connection {
  int fd = -1;
  std::size_t received = 0;
  std::uint64_t sum = 0;  // last answer to add
};

// What the replies to healthy clients took at most.
struct Slowest {
  Clock::duration wall{};
  std::uint64_t server_cpu_ns = 0;
};

sockaddr_in address(std::uint32_t host, int port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(host);
  result.sin_port = htons(static_cast<std::uint16_t>(port));
  return result;
}

// Starts connecting; does not wait.
int dial(int port, std::size_t index) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  const sockaddr_in from =
      address(INADDR_LOOPBACK + static_cast<std::uint32_t>(index % source_addresses), 0);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) die("bind");
  const sockaddr_in to = address(INADDR_LOOPBACK, port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
      errno != EINPROGRESS) {
    die("connect");
  }
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    die("send");
}

class Load {
 public:
  Load(int port, std::size_t count) : connections_(count), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    port_ = port;
  }

  // Everybody at once: connect, handshake, ping, its answer. Returns the connections that failed.
  std::size_t connect_all() {
    std::size_t waiting = connections_.size();
    std::size_t failed = 0;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      connections_[i].fd = dial(port_, i);
      epoll_event wanted{.events = EPOLLOUT, .data = {.u64 = i}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i].fd, &wanted);
    }
    while (waiting > 0) {
      for (const epoll_event& event : wait(-1)) {
        Connection& connection = connections_[event.data.u64];
        char answer[4];
        if (event.events & EPOLLOUT && !(event.events & EPOLLERR)) {
          epoll_event wanted{.events = EPOLLIN, .data = {.u64 = event.data.u64}};
          ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd, &wanted);
          send_all(connection.fd, std::string(handshake) + std::string(ping));
        } else if (::recv(connection.fd, answer, 4, 0) == 4 &&
                   std::string_view(answer, 4) == ping.substr(1)) {
          --waiting;
        } else {
          ::close(connection.fd);
          connection.fd = -1;
          ++failed;
          --waiting;
        }
      }
    }
    return failed;
  }

  // Requests answered within the time.
  std::uint64_t run(const std::string& operation, double seconds) {
    std::uint64_t answered = 0;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (std::size_t i = 0; i < connections_.size(); ++i) ask(i, operation);
    auto now = Clock::now();
    while (now < end) {
      for (const epoll_event& event : wait(100)) {
        if (!take(event.data.u64, operation)) continue;
        ++answered;
        ask(event.data.u64, operation);
      }
      now = Clock::now();
    }
    return answered;
  }

  // Every 5 ms, as a client that has work of its own: the server's CPU is then what others cost.
  std::uint64_t pace(const std::string& operation, double seconds, int pid, Slowest& slowest) {
    std::uint64_t answered = 0;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      const std::uint64_t cpu = cpu_ns(pid);
      const auto asked = Clock::now();
      for (std::size_t i = 0; i < connections_.size(); ++i) ask(i, operation);
      for (std::size_t waiting = connections_.size(); waiting > 0;) {
        for (const epoll_event& event : wait(100)) waiting -= take(event.data.u64, operation);
      }
      slowest.wall = std::max(slowest.wall, Clock::now() - asked);
      slowest.server_cpu_ns = std::max(slowest.server_cpu_ns, cpu_ns(pid) - cpu);
      answered += connections_.size();
      ::usleep(5'000);
    }
    return answered;
  }

  void prepare() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      const std::string key = "key/" + std::to_string(i);
      send_all(connections_[i].fd, "\x01" + counted(key) + counted(std::string(value_bytes, 'x')));
    }
  }

 private:
  Operation request(std::size_t i, const std::string& operation) {
    const std::string key = "key/" + std::to_string(i);
    const std::string value(value_bytes, 'x');
    if (operation == "get" || operation == "latency") {
      return {"\x03" + counted(key), 8 + value_bytes, counted(value)};
    }
    if (operation == "add") {
      return {
          "\x04" + counted("sum/" + std::to_string(::getpid()) + "/" + std::to_string(i)) + u64(1),
          8, u64(++connections_[i].sum)};
    }
    if (operation == "check") return {"\x05" + u64(1) + counted(key), 1, std::string(1, '\0')};
    return {"\x01" + counted(key) + counted(value) + std::string(ping), 4,
            std::string(ping.substr(1))};
  }

  void ask(std::size_t i, const std::string& operation) {
    Operation next = request(i, operation);
    connections_[i].received = 0;
    if (expected_.size() < connections_.size()) expected_.resize(connections_.size());
    expected_[i] = std::move(next.reply);
    send_all(connections_[i].fd, next.request);
  }

  // True once the whole reply is there.
  bool take(std::size_t i, const std::string& operation) {
    char reply[256];
    const ssize_t length = ::recv(connections_[i].fd, reply, sizeof reply, 0);
    if (length <= 0) die(operation + ": connection lost");
    const std::string& expected = expected_[i];
    const std::size_t so_far = connections_[i].received;
    if (expected.substr(so_far, static_cast<std::size_t>(length)) !=
        std::string_view(reply, static_cast<std::size_t>(length))) {
      errno = EBADMSG;
      die(operation + ": wrong reply");
    }
    connections_[i].received += static_cast<std::size_t>(length);
    return connections_[i].received == expected.size();
  }

  std::vector<epoll_event> wait(int timeout_ms) {
    std::vector<epoll_event> events(512);
    const int count =
        ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
    events.resize(static_cast<std::size_t>(std::max(count, 0)));
    return events;
  }

  std::vector<Connection> connections_;
  std::vector<std::string> expected_;
  int epoll_;
  int port_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: store_load PORT CONNECTIONS OPERATION SECONDS PID\n");
    return 2;
  }
  const std::string operation = argv[3];
  const int pid = std::atoi(argv[5]);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);

  Load load(std::atoi(argv[1]), static_cast<std::size_t>(std::atol(argv[2])));
  const std::uint64_t connect_cpu = cpu_ns(pid);
  const auto connect_start = Clock::now();
  const std::size_t failed = load.connect_all();
  const double connect_s = std::chrono::duration<double>(Clock::now() - connect_start).count();
  if (operation == "connect") {
    std::printf("{\"wall_s\": %.4f, \"cpu_us\": %.3f, \"failed\": %zu, \"rss\": %llu}\n", connect_s,
                static_cast<double>(cpu_ns(pid) - connect_cpu) / 1e3 / std::atof(argv[2]), failed,
                static_cast<unsigned long long>(resident_bytes(pid)));
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
  }
  if (failed > 0) {
    std::fprintf(stderr, "store_load: %zu connections failed\n", failed);
    return 1;
  }
  load.prepare();
  const std::uint64_t cpu = cpu_ns(pid);
  const auto start = Clock::now();
  Slowest slowest;
  const std::uint64_t answered = operation == "latency"
                                     ? load.pace(operation, std::atof(argv[4]), pid, slowest)
                                     : load.run(operation, std::atof(argv[4]));
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf(
      "{\"cpu_us\": %.4f, \"requests_per_s\": %.0f, \"slowest_ms\": %.3f, "
      "\"slowest_cpu_ms\": %.3f}\n",
      static_cast<double>(cpu_ns(pid) - cpu) / 1e3 / static_cast<double>(answered),
      static_cast<double>(answered) / seconds,
      std::chrono::duration<double, std::milli>(slowest.wall).count(),
      static_cast<double>(slowest.server_cpu_ns) / 1e6);
}
