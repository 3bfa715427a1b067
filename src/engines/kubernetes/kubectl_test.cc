#include "engines/kubernetes/kubectl.h"

#include <gtest/gtest.h>

namespace toprun::engines::kubernetes {
namespace {

TEST(Kubectl, RefusalsAreTheClustersWordsAndAnAdvice) {
  const Error taken = refusal("kubectl create",
                              "Error from server (AlreadyExists): error when creating \"STDIN\": "
                              "pytorchjobs.kubeflow.org \"train\" already exists\n");
  EXPECT_EQ(taken->why,
            "(AlreadyExists): error when creating \"STDIN\": pytorchjobs.kubeflow.org \"train\" "
            "already exists");
  EXPECT_EQ(taken->fix, "choose another --job-name, or leave it out");
  const Error absent = refusal(
      "kubectl create",
      "error: unable to recognize \"STDIN\": no matches for kind \"TrainJob\" in version \"x\"\n");
  EXPECT_NE(absent->fix.find("--operator"), std::string::npos);
  const Error silent = refusal("kubectl get",
                               "E1124 17:24:18.147198   24913 memcache.go:265] \"Unhandled\"\n"
                               "The connection to the server localhost:8080 was refused\n");
  EXPECT_EQ(silent.line(),
            "kubectl get: The connection to the server localhost:8080 was refused; kubectl "
            "knows no cluster here: log in to a cluster, or set KUBECONFIG");
  EXPECT_TRUE(is_without_cluster(silent));
  EXPECT_FALSE(is_without_cluster(taken));
  EXPECT_EQ(refusal("kubectl get", "The connection to the server 10.0.0.1:6443 was refused\n")->fix,
            "check the cluster's address: kubectl config view --minify");
  EXPECT_EQ(refusal("kubectl create", "")->why, "it gave no reason");
  EXPECT_EQ(refusal("kubectl create", "a\x1b[2Jb\n")->why.find('\x1b'), std::string::npos);
}

TEST(Kubectl, TheNameInWhatItPrints) {
  EXPECT_EQ(name_in("pytorchjob.kubeflow.org/train-x7k2p"), "train-x7k2p");
  EXPECT_EQ(name_in("train"), "train");
}

}  // namespace
}  // namespace toprun::engines::kubernetes
