// The sequential model: what the API server's objects say, change by change, and the rules
// that must hold over it. It reads objects only; of the scheduler's code it uses none but
// what parses JSON.
//
// The rules (docs/guarantees.md has them in users' words):
//   S1  no card is given away twice
//   S2  nothing that a bound pod has is forgotten
//   S3  nothing is kept for a pod that is not there
//   S4  node, annotations and ledger say the same of a pod that we bound
//   S5  usage is what the pods of the API server hold, computed afresh
//   S6  a pod that needs its node's lock has it when it is bound
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aliquot/cluster/cluster.h"
#include "aliquot/kube/types.h"
#include "aliquot/ledger/ledger.h"
#include "simulation/hardware.h"
#include "simulation/journal.h"

namespace aliquot::simulation {

// What the rules have to know of a process.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual int id() const = 0;
  // When it sent the Binding of pod `uid` its cache showed `other` as bound.
  virtual bool SawBound(const std::string& uid, const std::string& other) const = 0;
  // The version of the node that it knew when it began to bind the pod; 0: none.
  virtual uint64_t NodeVersionAtBind(const std::string& uid) const = 0;
  virtual const ledger::Ledger& ledger() const = 0;
};

class Model {
 public:
  // Of an empty cluster. Both outlive the model.
  Model(cluster::Cluster& cluster, Journal& journal);

  // Takes in what the API server has stored since the last call, and judges it. `by`: whose
  // call it was; null: somebody else's. After every write.
  void CatchUp(const Witness* by);

  // Lets the API server forget its history; the model has seen it.
  void Compact();

  struct PodState {
    std::shared_ptr<const kube::Pod> pod;  // as it was last
    int bound_by = 0;                      // process; 0: not bound, or by nobody of ours
    uint64_t ended = 0;                    // version from which on it is finished or deleted
    bool deleted = false;
    bool counts() const { return ended == 0 && !pod->node_name.empty(); }
  };
  // By UID, also of pods that are gone.
  const std::map<std::string, PodState>& pods() const { return pods_; }
  // Null: no such pod now.
  std::shared_ptr<const kube::Pod> Find(const std::string& uid) const;
  std::vector<std::string> NodeNames() const;
  std::shared_ptr<const kube::Node> Node(const std::string& name) const;

  std::function<void(const std::shared_ptr<const kube::Pod>&)> on_created, on_bound;

  // A promise was made to the pod on the node: S1 over everything that `of` has promised.
  void CheckPromise(const Witness& of, const std::string& uid, const std::string& node,
                    uint64_t node_version);

  // S2 and S3. `seen`: the version up to which the process has seen pods; `cached`: its
  // unfinished pods; `longest`: how long a promise may stand without a binding.
  void Audit(const Witness& of, uint64_t seen,
             const std::vector<std::shared_ptr<const kube::Pod>>& cached, Duration longest) const;

  // Drops what is known of pods that were deleted and ended before `version`.
  void ForgetGone(uint64_t version);

 private:
  struct NodeHistory {
    std::vector<std::pair<uint64_t, Inventory>> inventories;  // ascending by version
    std::shared_ptr<const kube::Node> now;                    // null: deleted
    uint64_t created = 0;                                     // version of this object's first
    // Locks that processes have removed: their texts, ascending by version.
    struct Unlock {
      uint64_t version;
      int by;
      std::string text;
    };
    std::vector<Unlock> unlocks;
  };

  void Follow();
  void TakeNode(std::string_view line, const Witness* by);
  void TakePod(std::string_view line, const Witness* by);
  void JudgeBinding(const PodState& state, const Witness& by);
  void JudgeEdit(const kube::Pod& before, const kube::Pod& now, const Witness* by) const;
  void CheckLock(const std::string& what, const kube::Pod& pod, const Witness& by) const;
  void CheckCards(const std::string& what, const std::string& node, uint64_t since,
                  const std::map<std::string, TakenCards>& holders, const TakenCards& cards) const;

  cluster::Cluster& cluster_;
  Journal& journal_;
  std::unique_ptr<cluster::Watch> pod_changes_, node_changes_;
  std::map<std::string, PodState> pods_;
  std::map<std::string, NodeHistory> nodes_;
};

}  // namespace aliquot::simulation
