import { setTimeout as pause } from 'node:timers/promises'
import { isBusy } from './sqlite-fault.ts'

/** How long SQLite itself may wait for a lock. It blocks the thread meanwhile, so it is a blink; `patiently` does the waiting. */
export const BLOCKING_WAIT_MS = 10
/** How long another process may hold the file before that is an error. */
export const PATIENCE_MS = 5_000
const LONGEST_PAUSE_MS = 8

/** Attempts again while another process holds the file, leaving the thread free in between. */
export async function patiently<T>(attempt: () => T, patienceMs = PATIENCE_MS): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (let longest = 1; ; longest = Math.min(longest * 2, LONGEST_PAUSE_MS)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
    }
    // Two that wait for each other's file must not wake in step.
    await pause(longest * Math.random())
  }
}
