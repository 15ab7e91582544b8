import type { Placement } from '@bulkhead/contract'
import type { PooledSandbox } from '@bulkhead/sandbox'
import { ChaosWorld } from './chaos-world.ts'
import type { Crossing, Fault } from './crossings.ts'
import { listenForNoise } from './noise.ts'
import type { Scenario } from './scenarios.ts'
import { verifyAfter, verifyLeft } from './verify.ts'

export interface Play {
  /** The crossings of the scenario and of closing, in order. */
  readonly crossings: readonly Crossing[]
  /** Whether the fault happened. */
  readonly struck: boolean
  /** Violations, each as a sentence. */
  readonly faults: readonly string[]
  /** The outcomes of the calls. */
  readonly verdicts: readonly string[]
}

/** More than any scenario uses. */
const CALLS = 8
const HOUR = 3_600_000
const PATIENCE_MS = 30_000
const TURNS = 20
const MAX_TRIES = 100

/** Runs one scenario with one fault. */
export async function play(
  sandbox: PooledSandbox, placement: Placement, scenario: Scenario, fault?: Fault,
): Promise<Play> {
  const noise = listenForNoise()
  const seen: Crossing[] = []
  const world = await ChaosWorld.open(sandbox, placement, fault)
  try {
    await world.host.runWorkflow({ calls: CALLS }, async () => {
      // An operation that is not a call may be rejected.
      await insist(
        world, scenario.run(world).catch(() => {}), scenario.name,
      )
      seen.push(...world.crossings.seen.splice(0))
      await insist(world, verifyAfter(world, CALLS), 'the host afterwards')
      world.crossings.seen.splice(0)
    })
    await insist(world, world.host.close(), 'closing')
    world.crossings.release()
    // On a busy machine what was late takes more than a few turns. What never ends is still there afterwards.
    for (let tries = 0; tries === 0 || (tries < MAX_TRIES && world.clock.pending > 0); tries++) await turns(tries)
    await verifyLeft(world)
  } catch (thrown) {
    world.faults.push(String(thrown))
  } finally {
    await world.dispose()
  }
  const {
    crossings: { isStruck }, outcomes,
  } = world
  seen.push(...world.crossings.seen)
  return {
    crossings: seen, struck: isStruck, faults: [...world.faults, ...noise.stop()],
    verdicts: outcomes.map((outcome) => (outcome.type === 'output' ? 'output' : outcome.error.code)),
  }
}

/** A hanging call ends by its deadline or by a cancellation; all others settle. Rejects when one does not. */
async function insist(world: ChaosWorld, work: Promise<unknown>, what: string): Promise<void> {
  let settled = false
  const done = work.finally(() => { settled = true })
  done.catch(() => {})
  const kind = await Promise.race([world.crossings.struck, done.then(() => undefined, () => undefined)])
  if (kind === 'hang' || kind === 'late') {
    const timePasses = () => world.clock.pass(HOUR)
    for (const push of [timePasses, () => world.cancel.abort(), timePasses, timePasses]) {
      await turns()
      if (settled) break
      push()
    }
  }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: it never settled`)), PATIENCE_MS)
  })
  await Promise.race([done, late]).finally(() => clearTimeout(timer))
}

async function turns(pauseMs = 0): Promise<void> {
  if (pauseMs > 0) await new Promise<void>((resolve) => { setTimeout(resolve, pauseMs) })
  for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resolve) => { setImmediate(resolve) })
}
