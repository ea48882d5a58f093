// Process: one run of `aliquot serve` without its sockets: the scheduler and the caches that
// feed it, from its start to its end.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/kube/reflector.h"
#include "aliquot/scheduler/scheduler.h"
#include "simulation/link.h"
#include "simulation/world.h"

namespace aliquot::simulation {

class Process : public Witness {
 public:
  // Starts it.
  Process(World& world, int id, const scheduler::Options& options, bool poll);
  ~Process() override;

  // It has ended for everybody else: nothing leaves it or reaches it from here on. Whoever
  // still runs in it comes to an end by itself.
  void Kill();
  bool alive() const { return !link_.cut(); }

  // Both judge the answer by the rules of time (L2) and of what was promised (S1). No value:
  // the process ended meanwhile.
  std::optional<scheduler::FilterAnswer> Filter(const scheduler::FilterRequest& request);
  std::optional<scheduler::BindAnswer> Bind(const kube::Pod& pod, const std::string& node);

  // S2 and S3.
  void Audit();

  int id() const override { return id_; }
  bool SawBound(const std::string& uid, const std::string& other) const override;
  uint64_t NodeVersionAtBind(const std::string& uid) const override;
  const ledger::Ledger& ledger() const override { return scheduler_.ledger(); }
  uint64_t pods_seen() const { return link_.pods_seen(); }
  bool synced() const { return scheduler_.sync().synced(); }

 private:
  uint64_t NodeVersion(const std::string& node) const;
  void OnWrite(const std::string& uid);
  void CheckPromise(const std::string& uid);

  World& world_;
  const int id_;
  const scheduler::Options options_;
  Link link_;
  scheduler::Scheduler scheduler_;
  kube::Reflector<kube::Node> nodes_;
  kube::Reflector<kube::ResourceQuota> quotas_;
  kube::Reflector<kube::Pod> pods_;

  // By UID, of binds that are under way.
  std::map<std::string, uint64_t> node_versions_;
  std::map<std::string, std::set<std::string>> saw_bound_;
};

}  // namespace aliquot::simulation
