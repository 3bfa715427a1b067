#pragma once

#include <gloo/rendezvous/store.h>

#include <string>

#include "node/store/client.h"

namespace toprun::libgloo {

// Gives Gloo access to the job's store. Throws if the store fails, as Gloo expects.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(store::Client& client, std::string prefix)
      : client_(client), prefix_(std::move(prefix)) {}

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, kDefaultTimeout); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

 private:
  store::Client& client_;
  std::string prefix_;
};

}  // namespace toprun::libgloo
