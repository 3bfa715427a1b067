#include "engines/kubernetes/object_name.h"

#include <gtest/gtest.h>

namespace toprun::engines::kubernetes {
namespace {

TEST(ObjectName, LabelsAreThoseOfRfc1035) {
  for (const char* good : {"a", "train-2", "a--b", "x9"}) EXPECT_TRUE(is_label(good)) << good;
  for (const char* bad : {"", "9a", "-a", "a-", "A", "a_b", "a.b", "ä"}) {
    EXPECT_FALSE(is_label(bad)) << bad;
  }
  EXPECT_TRUE(is_label(std::string(63, 'a')));
  EXPECT_FALSE(is_label(std::string(64, 'a')));
}

TEST(ObjectName, TheNearestLabel) {
  EXPECT_EQ(nearest_label("my_first_distributed_app"), "my-first-distributed-app");
  EXPECT_EQ(nearest_label("My App.v2"), "my-app-v2");
  EXPECT_EQ(nearest_label("--a__b--"), "a-b");
  EXPECT_EQ(nearest_label("2fast"), "job-2fast");
  EXPECT_EQ(nearest_label("___"), "job");
  for (const char* text : {"", "a", "9", "é", "a_________", "1_1"}) {
    EXPECT_TRUE(is_label(nearest_label(text))) << text;
  }
  EXPECT_EQ(nearest_label(std::string(100, 'A')), std::string(longest_job_name, 'a'));
}

TEST(ObjectName, ARefusedNameIsAnsweredWithTheNearest) {
  EXPECT_EQ(job_name("train", "--job-name"), "train");
  const auto refused = job_name("my_App", "--job-name");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error()->exit_code, exit_usage);
  EXPECT_EQ(refused.error()->fix, "use --job-name my-app");
}

TEST(ObjectName, KeysAndValuesOfLabels) {
  for (const char* key : {"a", "nvidia.com/gpu.clique", "A_b.c-1", "topology.kubernetes.io/zone"}) {
    EXPECT_TRUE(is_label_key(key)) << key;
  }
  for (const char* key : {"", "/a", "a/", "a b", "-a", "a-", "A.com/a", "a/b/c", "a..b/c", "é"}) {
    EXPECT_FALSE(is_label_key(key)) << key;
  }
  EXPECT_TRUE(is_label_value(""));
  EXPECT_TRUE(is_label_value(std::string(63, 'a')));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
  EXPECT_FALSE(is_label_value("a/b"));
}

}  // namespace
}  // namespace toprun::engines::kubernetes
