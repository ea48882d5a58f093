// Rest: what each verb does to the store.
//
// Thread safety: none, the owner locks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include "aliquot/base/clock.h"
#include "cluster/selector.h"
#include "cluster/store.h"

namespace aliquot::cluster {

class Rest {
 public:
  // What a successful request answers.
  struct Answer {
    int status = 200;
    std::string body;
  };

  // `clock` outlives it. The namespaces that every cluster has are there.
  Rest(uint64_t seed, size_t history_per_kind, const Clock& clock);

  const Store& store() const { return store_; }
  void Compact() { store_.Compact(); }

  Outcome<Answer> Get(const Place& place) const;
  Outcome<Answer> List(const Place& place, const Query& query) const;
  // `body`: the object, decoded from JSON only. With `dry_run` nothing is kept.
  Outcome<Answer> Create(const Place& place, Json body, bool dry_run);
  Outcome<Answer> Update(const Place& place, Json body, bool dry_run);
  Outcome<Answer> Patch(const Place& place, std::string_view content_type, std::string_view patch,
                        bool dry_run);
  // `options`: a DeleteOptions, or null.
  Outcome<Answer> Delete(const Place& place, const Query& query, const Json& options, bool dry_run);
  Outcome<Answer> Bind(const Place& place, const Json& binding, bool dry_run);
  // Of a namespace: it may go now.
  Outcome<Answer> Finalize(const Place& place);

 private:
  std::string NewUid();
  Outcome<Json> Accept(const Place& place, Json body) const;
  std::optional<ApiError> CheckNamespace(const Place& place, std::string_view name) const;
  Outcome<Answer> Replace(const Place& place, const ObjectPtr& old, Json object, bool dry_run);
  Outcome<Answer> DeletePod(const Place& place, const ObjectPtr& old,
                            std::optional<int64_t> asked_grace);
  Outcome<Answer> DeleteNamespace(const Place& place, const ObjectPtr& old);
  void RemoveEmptied(const std::string& ns);
  void Remove(const Place& place);
  void ExpireEvents();

  const Clock& clock_;
  Store store_;
  std::mt19937_64 random_;

  // Events live for an hour after their last change.
  struct Expiry {
    SteadyTime at;
    std::string key;
    uint64_t version;
  };
  std::deque<Expiry> expiries_;
};

}  // namespace aliquot::cluster
