#include <gtest/gtest.h>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "node/prepare/probes/network_proof.h"

namespace toprun::probes {
namespace {

TEST(NetworkWatch, QuotesTheLineThatExplainsTheSockets) {
  const TemporaryFolder folder;
  const std::string log = folder.path() / "nccl.log";
  const std::string start = "h:7:40 [0] NCCL INFO ";
  const std::string plugin = "NET/Plugin: Could not find: libnccl-net.so.";
  const std::string verbs = "NET/IB : No device found.";
  NetworkWatch on_infiniband({log}, fabric::FastPath::verbs);
  NetworkWatch on_efa({log}, fabric::FastPath::plugin);
  EXPECT_FALSE(on_infiniband.look());  // it is not there yet
  ASSERT_TRUE(replace_file(log, start + plugin + "\n" + start + verbs + "\n"));
  EXPECT_FALSE(on_infiniband.look());  // nothing has been sent
  EXPECT_FALSE(on_infiniband.is_settled());
  ASSERT_TRUE(replace_file(log, start + plugin + "\n" + start + verbs + "\n" + start +
                                    "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"));
  const std::string why = "NCCL communicates with other nodes over plain sockets; it said: ";
  EXPECT_EQ(on_infiniband.look(), why + verbs);
  EXPECT_EQ(on_efa.look(), why + plugin);
}

}  // namespace
}  // namespace toprun::probes
