import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { expect, TestRunner, type RunnerTestCase } from 'vitest'

/** The real ones. Tests replace those of the system by a clock of their own. */
const { setInterval, clearInterval } = globalThis

/**
 * Vitest reports each import that has a parent to its main process, for a graph that only watching needs. These messages
 * took a tenth of the time. A relative import is found without its parent.
 */
registerHooks({
  resolve: (specifier, context, next) =>
    /^\.\.?\/.*\.ts$/.test(specifier) && context.parentURL !== undefined && context.conditions.includes('import')
      ? next(new URL(specifier, context.parentURL).href, { ...context, parentURL: undefined })
      : next(specifier, context),
})

/** How often the progress of a test is looked at while it may wait. */
const LOOKS = 12

/**
 * Fails a test that makes no progress for as long as `expect.poll` may wait. An assertion is progress, so a long test may
 * take its time on a busy machine. A poll says what it waits for; for all else, this says what the test has open.
 */
export default class Runner extends TestRunner {
  async runTask(test: RunnerTestCase): Promise<void> {
    const limit = this.config.expect.poll?.timeout ?? Infinity
    const stalled = Promise.withResolvers<never>()
    let seen = -1
    let looks = 0
    const timer = setInterval(() => {
      const { assertionCalls } = expect.getState()
      looks = assertionCalls === seen ? looks + 1 : 0
      seen = assertionCalls
      // Later than a poll that began with the last assertion.
      if (looks > LOOKS + 1) stalled.reject(new Error(describeWait(limit, seen)))
    }, limit / LOOKS)
    timer.unref()
    try {
      await Promise.race([TestRunner.getTestFn(test)(), stalled.promise])
    } finally {
      clearInterval(timer)
    }
  }
}

function describeWait(ms: number, assertions: number): string {
  const kinds = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind))
  const open = [...childCommands(), ...kinds.map(([kind, all = []]) => `${all.length} ${kind}`)]
  return `No progress for ${ms / 1000} s. The test waits after ${assertions} assertions. Open: ${open.join(', ')}.`
}

/** The command lines of child processes, where the system lists them. */
function childCommands(): readonly string[] {
  try {
    const pids = readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').trim().split(' ')
    return pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim())
  } catch {
    return []
  }
}
