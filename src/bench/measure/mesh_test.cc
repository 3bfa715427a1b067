#include "bench/measure/mesh.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <thread>

namespace toprun::measure {
namespace {

using std::chrono::milliseconds;

std::string congestion_control_of(int socket) {
  std::array<char, 16> name{};
  socklen_t length = name.size();
  ::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length);
  return name.data();
}

std::string usual_congestion_control() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return congestion_control_of(socket.get());
}

// What the connection of two ranks uses, at each end. `node`: of the second; the first is on 0.
std::array<std::string, 2> ends(std::size_t node) {
  std::array meshes = {Mesh::open(0, "token"), Mesh::open(1, "token")};
  std::vector<Peer> peers;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::size_t its_node = rank == 0 ? 0 : node;
    peers.push_back(
        {rank, its_node, "n" + std::to_string(its_node), "", "127.0.0.1", meshes[rank]->port(), 0});
  }
  for (auto& mesh : meshes) mesh->know(peers);
  constexpr milliseconds limit{10'000};
  const std::size_t others[] = {1, 0};
  std::thread second([&] { EXPECT_TRUE(meshes[1]->connect(std::span(others + 1, 1), 1, limit)); });
  EXPECT_TRUE(meshes[0]->connect(std::span(others, 1), 1, limit));
  second.join();
  return {congestion_control_of(meshes[0]->socket(1, 0)),
          congestion_control_of(meshes[1]->socket(0, 0))};
}

TEST(Mesh, OfOneHostUsesRenoAndBetweenHostsWhatIsUsual) {
  using Both = std::array<std::string, 2>;
  EXPECT_EQ(ends(0), (Both{"reno", "reno"}));
  const std::string usual = usual_congestion_control();
  EXPECT_EQ(ends(1), (Both{usual, usual}));
}

}  // namespace
}  // namespace toprun::measure
