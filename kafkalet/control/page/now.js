// The clock of the brokers: that of the browser plus a difference, which the events of the stream correct.

import * as live from "./live.js";

let aheadMs = 0;

/** Milliseconds since 1970 by the clock of the brokers. */
export function nowMs() {
  return Date.now() + aheadMs;
}

export function setNow(clock) {
  aheadMs = clock.now_ms - Date.now();
}

live.on(["clock"], setNow);
