// Reservation: a promise of the ledger that reverts itself. Dropped without
// Commit, the ledger is as it was without it.
//
// Errors: none. Thread safety: one thread at a time per object; the ledger
// outlives it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace aliquot::ledger {

class Ledger;

// A reservation that was replaced meanwhile (the pod was filtered again, or
// bound) is not touched by the object of the old one.
class [[nodiscard]] Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { Forget(); }

  // Keeps the promise: from here on it ends by Ledger::Forget, expiry, binding
  // or the pod's end.
  void Commit() { ledger_ = nullptr; }
  void Forget();
  bool armed() const { return ledger_ != nullptr; }

 private:
  friend class Ledger;
  Reservation(Ledger* ledger, std::string uid, uint64_t generation)
      : ledger_(ledger), uid_(std::move(uid)), generation_(generation) {}

  Ledger* ledger_ = nullptr;
  std::string uid_;
  uint64_t generation_ = 0;
};

}  // namespace aliquot::ledger
