#include "observe/web/address_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/os/os_testing.h"

namespace toprun::web {
namespace {

TEST(AddressFile, IsReadAsItIsWrittenAndOnlyForItsUser) {
  const TemporaryFolder folder;
  const std::string job = (folder.path() / "17").string();
  EXPECT_FALSE(read_address(job));
  for (const char* url : {"http://127.0.0.1:41234/#token=a", "http://127.0.0.1:41235/"}) {
    ASSERT_TRUE(write_address(job, {"n0", url}));
    const auto read = read_address(job);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->host.raw(), "n0");
    EXPECT_EQ(read->url.raw(), url);
  }
  struct stat status {};
  ASSERT_EQ(::stat(address_file(job).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(AddressFile, APortIsForwardedOnlyFromALoopbackAddress) {
  EXPECT_EQ(port_on_loopback({"n0", "http://127.0.0.1:41234/#token=a"}), 41234);
  EXPECT_EQ(port_on_loopback({"n0", "http://0.0.0.0:8080/"}), std::nullopt);
  EXPECT_EQ(port_on_loopback({"n0", "http://127.0.0.1:x/"}), std::nullopt);
}

}  // namespace
}  // namespace toprun::web
