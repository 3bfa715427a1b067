#include "engines/kubernetes/kueue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"

namespace toprun::engines::kubernetes {
namespace {

std::string condition_text(std::string_view type, std::string_view status, std::string_view reason,
                           std::string_view message) {
  return fmt::format(R"({{"type":"{}","status":"{}","reason":"{}","message":"{}"}})", type, status,
                     reason, message);
}

Admission admission_with(std::string_view conditions, std::string_view spec = "",
                         std::string_view status = "") {
  const auto all = admissions_in(json_in(fmt::format(
      R"({{"items":[{{"metadata":{{"name":"w"}},"spec":{{"queueName":"q"{}}},
          "status":{{"conditions":[{}]{}}}}}]}})",
      spec, conditions, status)));
  return all.empty() ? Admission() : all.front();
}

TEST(Kueue, WhyAJobWaits) {
  const std::string reserved = condition_text("QuotaReserved", "True", "QuotaReserved", "x");
  const std::string evicted = condition_text("Evicted", "True", "Preempted", "for another");
  struct Case {
    std::string conditions, spec, status, said;
  };
  for (const Case& one : std::vector<Case>{
           {"", "", "", "it has not processed this job yet"},
           {condition_text("QuotaReserved", "False", "Pending", "8 more needed"), "", "",
            "8 more needed"},
           {condition_text("QuotaReserved", "False", "Pending", "8 more needed") + "," + evicted,
            "", "", "8 more needed; Preempted: for another"},
           {condition_text("QuotaReserved", "False", "Pending", "for another") + "," + evicted, "",
            "", "for another"},
           {condition_text("QuotaReserved", "False", "Pending", "8 more needed") + "," +
                condition_text("Evicted", "False", "QuotaReserved", "before"),
            "", "", "8 more needed"},
           {reserved, "", "", "its quota is reserved, and admission checks are not done yet"},
           {reserved, "",
            R"(,"admissionChecks":[{"name":"a","state":"Ready"},
               {"name":"b","state":"Pending","message":"no machines"}])",
            "its quota is reserved, and admission checks are not done yet: b is Pending: no "
            "machines"},
           {reserved + "," + condition_text("Admitted", "True", "Admitted", "y"), "", "",
            "it was admitted, and its pods are about to be made"},
           {"", R"(,"active":false)", "",
            "its Workload is deactivated, and waits until its spec.active is true again"}}) {
    EXPECT_EQ(why_it_waits(admission_with(one.conditions, one.spec, one.status)), one.said);
  }
}

TEST(Kueue, WhoseAWorkloadIs) {
  Job job;
  job.id = "a";
  job.instance = "7";
  const auto of = [&](std::string_view kind, std::string_view name, std::string_view uid,
                      const Kind& its) {
    Admission admission;
    admission.owners = {{std::string(kind), std::string(name), std::string(uid)}};
    return is_of(admission, job, its);
  };
  EXPECT_TRUE(of("PyTorchJob", "a", "7", kinds[0]));
  EXPECT_FALSE(of("PyTorchJob", "a", "6", kinds[0])) << "an earlier job of this name";
  EXPECT_FALSE(of("PyTorchJob", "b", "7", kinds[0]));
  EXPECT_FALSE(of("JobSet", "a", "8", kinds[0]));
  EXPECT_TRUE(of("JobSet", "a", "8", kinds[1])) << "which the TrainJob has made";
  EXPECT_FALSE(of("TrainJob", "a", "6", kinds[1]));
  EXPECT_FALSE(is_of(Admission(), job, kinds[0]));
}

TEST(Kueue, APlaceInTheQueue) {
  const auto summary = json_in(R"({"items":[
      {"metadata":{"name":"x"},"positionInLocalQueue":0},
      {"metadata":{"name":"w"},"positionInLocalQueue":1},{"metadata":{"name":"y"}},7]})");
  EXPECT_EQ(ahead_in(summary, "w"), 1);
  EXPECT_EQ(ahead_in(summary, "x"), 0);
  EXPECT_EQ(ahead_in(summary, "y"), std::nullopt);
  EXPECT_EQ(ahead_in(summary, "z"), std::nullopt);
  EXPECT_EQ(ahead_in(json_in("{}"), "z"), std::nullopt);
}

TEST(Kueue, NonsenseIsUnset) {
  for (const char* text :
       {"{}", R"({"items":[1,null,[]]})", R"({"items":[{"metadata":{"ownerReferences":7},
          "spec":{"active":"x"},"status":{"conditions":[7],"admissionChecks":{"a":1}}}]})"}) {
    for (const Admission& one : admissions_in(json_in(text))) {
      EXPECT_EQ(why_it_waits(one), "it has not processed this job yet") << text;
      EXPECT_FALSE(is_of(one, Job(), kinds[0])) << text;
    }
  }
}

}  // namespace
}  // namespace toprun::engines::kubernetes
