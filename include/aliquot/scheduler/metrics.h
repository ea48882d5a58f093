// Metrics: what the services count while they work: requests by outcome, where their
// time goes, and why pods were refused.
//
// Thread safety: any method from any thread; observing takes no lock.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "aliquot/base/clock.h"
#include "aliquot/base/metrics.h"
#include "aliquot/base/metrics_text.h"
#include "aliquot/core/reasons.h"
#include "aliquot/core/schedule.h"
#include "aliquot/scheduler/extender.h"

namespace aliquot::scheduler {

// The parts of a request that take time.
enum class Stage {
  kFilterWait,    // for its turn among calls for the same pod
  kFilterDecide,  // in the ledger
  kFilterWrite,   // the patch of the pod
  kBindLock,      // the node lock
  kBindWrite,     // the binding
  kCount,
};

class Metrics {
 public:
  // The clock, which outlives it, tells how long things take.
  explicit Metrics(const Clock& clock) : clock_(clock) {}

  void Observe(FilterOutcome outcome, Duration took) { filters_[Index(outcome)].Observe(took); }
  void Observe(BindOutcome outcome, Duration took) { binds_[Index(outcome)].Observe(took); }
  void Observe(AdmissionOutcome outcome, Duration took) { reviews_[Index(outcome)].Observe(took); }

  // What `run` answers; how long it took goes to the stage.
  template <typename Run>
  auto Timed(Stage stage, Run run) {
    return aliquot::Timed(stages_[Index(stage)], clock_, std::move(run));
  }

  // A decision that found no node: every reason that it gave counts once.
  void Refused(const core::Decision& decision);

  Counter expired_reservations;

  void Write(MetricsText& text) const;

 private:
  static constexpr size_t kReasons = static_cast<size_t>(core::Reason::kCount);
  template <typename Enum>
  static constexpr size_t Index(Enum value) {
    return static_cast<size_t>(value);
  }
  template <typename Enum>
  using ByEnum = std::array<Histogram, static_cast<size_t>(Enum::kCount)>;

  Counter& CounterOf(std::string_view word);

  const Clock& clock_;
  ByEnum<FilterOutcome> filters_;
  ByEnum<BindOutcome> binds_;
  ByEnum<AdmissionOutcome> reviews_;
  ByEnum<Stage> stages_;
  std::array<Counter, kReasons> refusals_;
  Counter unregistered_;
  Counter other_refusals_;
};

}  // namespace aliquot::scheduler
