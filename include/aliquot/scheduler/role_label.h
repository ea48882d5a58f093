// RoleLabel: the label hami.io/scheduler-role=leader on our own pod, by which the
// Service of HAMi's chart finds who leads. It is put on while we lead and taken off when
// we do not, also when a process before us has left it. Other pods are left alone: each
// process labels its own.
//
// Thread safety: by the owner; Start's thread does the work.
#pragma once

#include <memory>
#include <thread>
#include <utility>

#include "aliquot/base/mutex.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/store.h"
#include "aliquot/scheduler/leader.h"

namespace aliquot::scheduler {

class RoleLabel {
 public:
  // Everything given outlives it. `pod` without a namespace or a name: no pod is labelled.
  RoleLabel(kube::Api& api, const kube::Store<kube::Pod>& pods, const Leader& leader, ObjectRef pod)
      : api_(api), pods_(pods), leader_(leader), pod_(std::move(pod)) {}
  ~RoleLabel() { Stop(); }

  void Start();
  void Stop();

  // Writes what is not as it should be; false if that failed. What the thread does each
  // second, after a failure each ten. For tests.
  bool Write();

 private:
  kube::Api& api_;
  const kube::Store<kube::Pod>& pods_;
  const Leader& leader_;
  const ObjectRef pod_;

  // What the cache showed when we wrote last. Of the thread only.
  std::shared_ptr<const kube::Pod> patched_;

  Mutex mutex_;
  CondVar stop_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace aliquot::scheduler
