#include "aliquot/scheduler/metrics.h"

#include <set>
#include <string>

namespace aliquot::scheduler {
namespace {

using Type = MetricsText::Type;

// In the order of the enums.
constexpr std::string_view kFilterOutcomes[] = {"assigned", "refused",   "unreadable",
                                                "passed",   "simulated", "error"};
constexpr std::string_view kBindOutcomes[] = {"bound", "already_bound", "error", "refused"};
constexpr std::string_view kAdmissionOutcomes[] = {"allowed", "denied", "error"};

struct StageName {
  std::string_view verb;
  std::string_view stage;
};
constexpr StageName kStages[] = {
    {"filter", "wait"}, {"filter", "decide"}, {"filter", "write"},
    {"bind", "lock"},   {"bind", "write"},
};

template <size_t N>
void WriteRequests(std::string_view verb, const std::string_view (&outcomes)[N],
                   const std::array<Histogram, N>& histograms, MetricsText& text) {
  for (size_t i = 0; i < N; ++i)
    text.Sample(Label("outcome", outcomes[i]) + Label("verb", verb), histograms[i]);
}

}  // namespace

void Metrics::Refused(const core::Decision& decision) {
  std::set<std::string_view> words;
  for (const core::Refusal& refusal : decision.refusals)
    for (const std::string_view word : refusal.Words()) words.insert(word);
  for (const std::string_view word : words) CounterOf(word).Add();
}

// Two reasons have the same word: it is counted under the first.
Counter& Metrics::CounterOf(std::string_view word) {
  for (size_t reason = 1; reason < kReasons; ++reason)
    if (core::Word(static_cast<core::Reason>(reason)) == word) return refusals_[reason];
  return word == core::kNodeUnregistered ? unregistered_ : other_refusals_;
}

void Metrics::Write(MetricsText& text) const {
  text.Begin("aliquot_request_duration_seconds", Type::kHistogram,
             "Requests by how they ended, from their last byte to their answer.");
  WriteRequests("filter", kFilterOutcomes, filters_, text);
  WriteRequests("bind", kBindOutcomes, binds_, text);
  WriteRequests("webhook", kAdmissionOutcomes, reviews_, text);

  text.Begin("aliquot_stage_duration_seconds", Type::kHistogram,
             "The parts of requests that take time.");
  for (size_t i = 0; i < stages_.size(); ++i)
    text.Sample(Label("stage", kStages[i].stage) + Label("verb", kStages[i].verb), stages_[i]);

  text.Begin("aliquot_refusals_total", Type::kCounter,
             "Filter requests that found no node, by each reason that some node gave.");
  const auto refusals = [&](std::string_view reason, const Counter& counter) {
    if (counter.value() > 0)
      text.Sample({Label("reason", reason)}, static_cast<double>(counter.value()));
  };
  for (size_t reason = 1; reason < kReasons; ++reason)
    refusals(core::Word(static_cast<core::Reason>(reason)), refusals_[reason]);
  refusals(core::kNodeUnregistered, unregistered_);
  refusals("other", other_refusals_);

  text.Begin("aliquot_expired_reservations_total", Type::kCounter,
             "Reservations given up because their pod was not bound in time.");
  text.Sample({}, static_cast<double>(expired_reservations.value()));
}

}  // namespace aliquot::scheduler
