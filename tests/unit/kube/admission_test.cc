#include "aliquot/kube/admission.h"

#include <gtest/gtest.h>

namespace aliquot::kube {
namespace {

// As the API server writes it.
constexpr std::string_view kReview =
    R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"0a1b",)"
    R"("kind":{"group":"","version":"v1","kind":"Pod"},"object":{"a":"\"ü\\"},"dryRun":false}})";

TEST(ReadReviewBeginning, TellsTheOwnerAsSoonAsItIsThere) {
  const size_t version = kReview.find("v1beta1\"") + 8;
  const size_t uid = kReview.find("0a1b\"") + 5;
  for (size_t size = 0; size <= kReview.size(); ++size) {
    const AdmissionReview review = ReadReviewBeginning(kReview.substr(0, size));
    EXPECT_EQ(review.api_version, size < version ? "" : "admission.k8s.io/v1beta1") << size;
    EXPECT_EQ(review.uid, size < uid ? "" : "0a1b") << size;
  }
}

TEST(ReadReviewBeginning, PassesOverWhatStandsBeforeTheObject) {
  EXPECT_EQ(ReadReviewBeginning("2b\r\n" + std::string(kReview)).uid, "0a1b");
}

TEST(ReadReviewBeginning, TellsNothingOfOtherTexts) {
  for (const char* text :
       {"", "{", "}", "[", "\"", "{{{{", R"({"request":[)", R"({"request":{"uid":1,)",
        R"({"apiVersion":"v1","request":{"uid":"u"}})", "\xff{\xff", "{\"\\"}) {
    const AdmissionReview review = ReadReviewBeginning(text);
    EXPECT_EQ(review.api_version + review.uid, "") << text;
  }
}

}  // namespace
}  // namespace aliquot::kube
