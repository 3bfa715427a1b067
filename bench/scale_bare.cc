// What the kernel alone takes for the root's part in scale.py: as many connections over loopback,
// with as many messages of about their sizes, by plain calls on one thread. No cryptography, no
// JSON, no decisions. Prints the root's CPU time as JSON.
//
//   scale_bare AGENTS
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// A member says something, the root answers. In these rounds it answers each at once: preamble,
// join; and in this one it waits for all: started and ended. The sizes are those of scale_load's
// agents and their root, as strace(1) shows them.
constexpr std::array<std::size_t, 3> said_bytes = {142, 206, 200};
constexpr std::array<std::size_t, 3> answer_bytes = {179, 140, 79};
constexpr std::size_t assignment_bytes = 308;  // to all, once all have joined
constexpr std::size_t joined = 2, rounds = said_bytes.size();
constexpr int events_at_once = 128, backlog = 4'096;
constexpr std::array<char, 1'024> text{};

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

int checked(int result, const char* what) {
  if (result < 0) die(what);
  return result;
}

struct Peer {
  std::size_t round = 0;
  std::size_t received = 0;  // in this round
  bool assigned = false;
};

void watch(int epoll, int fd) {
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = fd}};
  checked(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted), "epoll_ctl");
}

void say(int fd, std::size_t bytes) {
  if (::send(fd, text.data(), bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) die("send");
}

// 0: the other end has closed.
std::size_t hear(int fd) {
  std::array<char, 1'024> bytes;
  return static_cast<std::size_t>(
      checked(static_cast<int>(::recv(fd, bytes.data(), bytes.size(), 0)), "recv"));
}

void be_root(int listener, std::size_t agents) {
  const int epoll = checked(::epoll_create1(0), "epoll_create1");
  watch(epoll, listener);
  std::vector<Peer> peers;
  std::vector<int> all;
  std::array<std::size_t, rounds> arrived{};
  for (std::size_t gone = 0; gone < agents;) {
    std::array<epoll_event, events_at_once> events;
    const int count = ::epoll_wait(epoll, events.data(), events_at_once, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener) {
        const int member = checked(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK), "accept4");
        if (peers.size() <= static_cast<std::size_t>(member))
          peers.resize(2 * static_cast<std::size_t>(member) + 1);
        all.push_back(member);
        watch(epoll, member);
        continue;
      }
      Peer& peer = peers[static_cast<std::size_t>(fd)];
      const std::size_t bytes = hear(fd);
      if (bytes == 0) {
        ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
        ::close(fd);
        ++gone;
        continue;
      }
      peer.received += bytes;
      if (peer.received < said_bytes[peer.round]) continue;
      peer.received = 0;
      const std::size_t round = peer.round++;
      const bool is_last = ++arrived[round] == agents;
      if (round < joined) say(fd, answer_bytes[round]);
      if (!is_last) continue;
      if (round + 1 == joined) {
        for (const int member : all) say(member, assignment_bytes);
      } else if (round >= joined) {
        for (const int member : all) say(member, answer_bytes[round]);
      }
    }
  }
}

// Each agent speaks as soon as it has its answer.
void be_all_agents(const sockaddr_in& address, std::size_t agents) {
  const int epoll = checked(::epoll_create1(0), "epoll_create1");
  std::vector<Peer> peers;
  for (std::size_t i = 0; i < agents; ++i) {
    const int fd = checked(::socket(AF_INET, SOCK_STREAM, 0), "socket");
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    checked(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
    if (peers.size() <= static_cast<std::size_t>(fd))
      peers.resize(2 * static_cast<std::size_t>(fd) + 1);
    say(fd, said_bytes[0]);
    watch(epoll, fd);
  }
  for (std::size_t gone = 0; gone < agents;) {
    std::array<epoll_event, events_at_once> events;
    const int count = ::epoll_wait(epoll, events.data(), events_at_once, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      Peer& peer = peers[static_cast<std::size_t>(fd)];
      peer.received += hear(fd);
      const bool awaits_assignment = peer.round + 1 == joined;
      const std::size_t wanted =
          answer_bytes[peer.round] + (awaits_assignment ? assignment_bytes : 0);
      if (peer.received < wanted) continue;
      peer.received = 0;
      if (++peer.round < rounds) {
        say(fd, said_bytes[peer.round]);
      } else {
        ::close(fd);
        ++gone;
      }
    }
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t agents = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (agents == 0 || files.rlim_cur < agents + 16) {
    std::fprintf(stderr, "usage: scale_bare AGENTS, so many open files (ulimit -Hn)\n");
    return 1;
  }
  const int listener = checked(::socket(AF_INET, SOCK_STREAM, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  checked(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), "bind");
  checked(::listen(listener, backlog), "listen");
  checked(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  const pid_t load = checked(::fork(), "fork");
  if (load == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(listener);
    be_all_agents(address, agents);
    std::_Exit(0);
  }
  be_root(listener, agents);
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  int status = 0;
  ::waitpid(load, &status, 0);
  std::printf("{\"user_s\": %.4f, \"kernel_s\": %.4f}\n", seconds(used.ru_utime),
              seconds(used.ru_stime));
  return status == 0 ? 0 : 1;
}
