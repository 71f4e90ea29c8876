// Rows whose destination is written around the caches: for transfers that the caches do not hold anyway. Only whole
// lines are written so; the bytes before the first and after the last line are stored normally.
#pragma once

#include "host/rows.hpp"

namespace tempi::host {

// Null if writing around the caches gains nothing (measured).
RowsFn choose_streaming(const Rows& rows);

}  // namespace tempi::host
