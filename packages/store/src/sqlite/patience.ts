import { setTimeout as pause } from 'node:timers/promises'
import { Hold } from './hold.ts'
import { isBusy } from './sqlite-fault.ts'

/** How long SQLite itself may wait for a lock. It blocks the thread meanwhile, so it is a blink; `patiently` does the waiting. */
export const BLOCKING_WAIT_MS = 10
const LONGEST_PAUSE_MS = 8

/** Attempts again while another process holds the file, leaving the thread free in between. */
export async function patiently<T>(attempt: () => T, hold = new Hold()): Promise<T> {
  const deadline = performance.now() + hold.patienceMs
  for (let longest = 1; ; longest = Math.min(longest * 2, LONGEST_PAUSE_MS)) {
    try {
      const result = attempt()
      hold.end()
      return result
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline) {
        hold.ranOut()
        throw error
      }
    }
    // Two that wait for each other's file must not wake in step.
    await pause(longest * Math.random())
  }
}
