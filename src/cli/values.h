#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "launch/options.h"

namespace toprun::cli {

// A value as the user gave it and where: what the checks below take, so that every message can
// show the thing to correct.
struct Given {
  std::string source;  // "--nnodes" or "PET_NNODES"
  std::string value;
  bool from_variable = false;

  // "--nnodes 0" or "PET_NNODES=0".
  std::string label() const;
};

inline constexpr int max_nodes = 1'000'000;
inline constexpr int max_processes_per_node = 100'000;
inline constexpr int max_port = 65'535;

// All of them fail with exit_usage, naming the value and what is allowed.

Result<int> parse_number(const Given& given, int least, int most);
// "1", "true", "0" and so on, as torchrun reads PET_* of its switches; empty counts as 0.
Result<bool> parse_switch(const Given& given);
// N, or MIN:MAX with MIN equal to MAX.
Result<int> parse_node_count(const Given& given);
// A number, cpu, gpu or auto, as it is.
Result<std::string> parse_processes_per_node(const Given& given);
Result<std::string> parse_backend(const Given& given);
// HOST[:PORT]; an IPv6 address with a port in brackets, which the result leaves out. Port 0 is
// allowed: the kernel chooses one.
Result<launch::Endpoint> parse_endpoint(const Given& given);
// A host name or address without a port; brackets around an IPv6 address are taken away.
Result<std::string> parse_host(const Given& given);
// K=V,K=V with the keys of torchrun's backends c10d and static
// (torch.distributed.elastic.rendezvous of PyTorch 2.14); is_host becomes "1" or "0", all times are
// whole seconds.
Result<std::map<std::string, std::string>> parse_rendezvous_settings(const Given& given);
// 0…3, or LOCAL_RANK:0…3 separated by commas, where ranks that are not named get 0.
Result<launch::StreamMap> parse_streams(const Given& given);

struct OrderChoice {
  launch::Order order = launch::Order::automatic;
  std::string file;
};
Result<OrderChoice> parse_order(const Given& given);

}  // namespace toprun::cli
