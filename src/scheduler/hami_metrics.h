// HAMi's metrics of cards, pods and quotas: its names, labels and units, which
// dashboards know. What differs from it on purpose is in docs/differences.md.
//
// Thread safety: any thread.
#pragma once

#include <span>

#include "aliquot/base/metrics_text.h"
#include "aliquot/kube/store.h"
#include "aliquot/ledger/ledger.h"

namespace aliquot::scheduler {

// `pods`: who holds something. `cache`: where it is looked up what the device plugins
// have written on them. `legacy`: the deprecated names as well.
void WriteHamiMetrics(const ledger::Ledger& ledger, std::span<const ledger::Ledger::Held> pods,
                      const kube::Store<kube::Pod>& cache, const core::Registry& registry,
                      bool legacy, MetricsText& text);

}  // namespace aliquot::scheduler
