// The body of /webhook: every answer is a review, its patch fits the object that was
// submitted, and the patched object is left as it is the next time.
#include <nlohmann/json.hpp>

#include "aliquot/base/base64.h"
#include "aliquot/base/clock.h"
#include "aliquot/scheduler/admission.h"
#include "fuzz/all_vendors.h"
#include "server/review.h"

namespace {

using namespace aliquot;
using Json = nlohmann::json;

class Admission : public scheduler::Extender {
 public:
  scheduler::FilterAnswer Filter(const scheduler::FilterRequest&,
                                 const scheduler::RequestContext&) override {
    return {};
  }
  scheduler::BindAnswer Bind(const scheduler::BindRequest&,
                             const scheduler::RequestContext&) override {
    return {};
  }
  scheduler::AdmissionAnswer Admit(const scheduler::AdmissionRequest& request) override {
    return service_.Admit(request);
  }

 private:
  static scheduler::Options OfHami() {
    scheduler::Options options;
    options.scheduler_name = "hami-scheduler";
    return options;
  }

  const scheduler::Options options_ = OfHami();
  const ledger::Ledger ledger_{fuzz::AllVendors(), SystemClock()};
  const scheduler::AdmissionService service_{fuzz::AllVendors(), ledger_, options_};
};

Json Answer(const std::string& body) {
  static Admission admission;
  const Json answer =
      Json::parse(server::AnswerReview(admission, "application/json", body), nullptr, false);
  fuzz::Require(answer.is_object() && answer["response"]["allowed"].is_boolean(),
                "every answer is a review");
  return answer["response"];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::BeQuiet();
  const std::string body = fuzz::Text(data, size);
  const Json response = Answer(body);
  if (!response.contains("patch")) return 0;

  Json review = Json::parse(body, nullptr, false);
  // Keys that stand there twice, and what only the other parser reads.
  if (review.is_discarded() || !review.is_object() || !review.contains("request")) return 0;
  const auto patch = DecodeBase64(response["patch"].get<std::string>());
  fuzz::Require(patch.ok(), "a patch is base64");
  try {
    review["request"]["object"] = review["request"]["object"].patch(Json::parse(*patch));
  } catch (const Json::exception&) {
    fuzz::Require(false, "a patch fits the object");
  }
  fuzz::Require(!Answer(review.dump()).contains("patch"), "the second time nothing is left to do");
  return 0;
}
