#include <gtest/gtest.h>

#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

// Lines as podman 4.3, apptainer 1.4 and runc 1.1 wrote them.
TEST(Explain, TheirWords) {
  struct Case {
    const char* words;
    const char* beginning;
    const char* end;
  };
  const Case cases[] = {
      {"Error: short-name \"nosuch\" did not resolve to an alias and no unqualified-search "
       "registries are defined in \"/etc/containers/registries.conf\"\n",
       "n1: container image a.sif: short-name", "write the registry before the name"},
      {"time=\"2026-11-22T12:54:03Z\" level=warning msg=\"Failed, retrying in 1s ... (3/3). Error: "
       "dial tcp 127.0.0.1:443: connect: connection refused\"\n"
       "Error: initializing source docker://localhost/nosuch:1: dial tcp 127.0.0.1:443: connect: "
       "connection refused\n",
       "n1: container image a.sif: initializing source docker://localhost/nosuch:1: dial",
       "or set https_proxy"},
      {"FATAL:   While checking container encryption: could not open image /tmp/nosuch.sif: failed "
       "to retrieve path for /tmp/nosuch.sif: lstat /tmp/nosuch.sif: no such file or directory\n",
       "n1: container image a.sif: While checking", "write the registry before the name"},
      {"\x1b[31mFATAL:  \x1b[0m While performing build: no space left on device\n",
       "n1: container image a.sif: While performing build: no space left on device; free some",
       "(temporary files of a build)"},
      {"Error: runc: runc create failed: unable to start container process: error during container "
       "init: error setting rlimits for ready process: error setting rlimit type 7: operation not "
       "permitted: OCI permission denied\n",
       "n1: podman may not set a limit: runc: runc create failed",
       "lower the limits in containers.conf"},
      {"WARNING: Skipping mount /etc/localtime [binds]: /etc/localtime doesn't exist in container\n"
       "Error: unknown flag: --frobnicate\n",
       "n1: podman does not know an option: unknown flag: --frobnicate", "use a newer version"},
  };
  container::Run run;
  run.request.image = "a.sif";
  for (const Case& test : cases) {
    const auto error = podman().explain(test.words, run, {.host = "n1"});
    ASSERT_TRUE(error) << test.words;
    EXPECT_TRUE(error->line().starts_with(test.beginning)) << error->line();
    EXPECT_TRUE(error->line().ends_with(test.end)) << error->line();
  }
}

TEST(Explain, TheSettingThatSwitchesUserNamespacesOff) {
  const auto error = podman().explain("cannot clone: Operation not permitted\n", {},
                                      {.host = "n1", .userns_off = "user.max_user_namespaces=0"});
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->line().starts_with(
      "n1: podman may not make user namespaces: user.max_user_namespaces=0; as root, set"));
}

TEST(Explain, OfNothingKnown) {
  EXPECT_FALSE(podman().explain("", {}, {}));
  EXPECT_FALSE(podman().explain("Traceback (most recent call last):\n", {}, {}));
  EXPECT_FALSE(
      podman().explain("WARNING: Skipping mount /var/tmp [tmp]: /var/tmp doesn't exist in "
                       "container\n",
                       {}, {}));
}

}  // namespace
}  // namespace toprun::container
