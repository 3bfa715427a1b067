#include <gtest/gtest.h>

#include "base/text/text.h"
#include "engines/login/login.h"

namespace toprun::engines {
namespace {

TEST(Exec, APodsShRunsTheScript) {
  const std::vector<Binary> binaries{{"x86_64", "0123456789abcdef", 17}};
  const std::vector<std::string> argv =
      exec_login({"kubectl", "exec", "a-0", "-i", "--"}, binaries);
  ASSERT_EQ(argv.size(), 8u);
  EXPECT_EQ(argv[4], "--");
  EXPECT_EQ(argv[5], "sh");
  EXPECT_EQ(argv[7], login_script(binaries));
}

TEST(Exec, Trouble) {
  struct Case {
    std::string_view said, why, fix;
  };
  constexpr Case cases[] = {
      {"Error from server (Forbidden): pods \"a-0\" is forbidden: User \"me\" cannot create "
       "resource \"pods/exec\" in API group \"\" in the namespace \"ml\"\n",
       "you have no right to execute commands in pods", "can-i create pods/exec"},
      {"error: Internal error occurred: error executing command in container: failed to exec in "
       "container: OCI runtime exec failed: exec failed: unable to start container process: exec: "
       "\"sh\": executable file not found in $PATH: unknown\n",
       "its image has no sh", "an image with a shell"},
      {"Error from server (NotFound): pods \"a-0\" not found\n", "the pod is gone", "status"},
      {"error: unable to upgrade connection: container not found (\"pytorch\")\n",
       "its container does not run", "status"},
      {"error: cannot exec into a container in a completed pod; current phase is Failed\n",
       "the pod has ended", "submit"},
      {"Error from server: error dialing backend: dial tcp 10.0.0.7:10250: i/o timeout\n",
       "Error from server: error dialing backend: dial tcp 10.0.0.7:10250: i/o timeout", "node"},
      {"E1124 22:53:22.909201   25386 memcache.go:265] \"Unhandled Error\" err=\"dial tcp "
       "[::1]:8080: "
       "connect: connection refused\"\nThe connection to the server localhost:8080 was refused\n",
       "The connection to the server localhost:8080 was refused", "config view"},
      {"error: You must be logged in to the server (Unauthorized)\n",
       "You must be logged in to the server (Unauthorized)", "log in"},
      {"sh: 1: trouble\ncommand terminated with exit code 2\n", "sh: 1: trouble", "--dry-run"},
      {"", "it ended without a message", "--dry-run"},
  };
  for (const auto& [said, why, fix] : cases) {
    const LoginTrouble trouble = exec_trouble(said);
    EXPECT_EQ(trouble.why, why) << said;
    EXPECT_NE(trouble.fix.find(fix), std::string::npos) << trouble.fix;
  }
}

TEST(Exec, TheAgentsLastWord) {
  for (const int code : {0, 7, 255}) {
    std::string text = "before\n" + login_ended(code) + "command terminated with exit code 7\n";
    EXPECT_EQ(take_login_end(text), code);
    EXPECT_EQ(text, "before\n");
  }
  for (const char* other : {"", "toprun-login joins\n", "toprun-login ended with x\n",
                            "toprun-login ended with 256\n", "toprun-login ended with -1\n"}) {
    std::string text = other;
    EXPECT_EQ(take_login_end(text), std::nullopt) << other;
    EXPECT_EQ(text, other);
  }
}

}  // namespace
}  // namespace toprun::engines
