import type { Session } from '../../../src/index.ts'
import { ManualClock } from '../../twin/clock.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { MemoryStore } from '../../twin/store.ts'
import { createWorld, type World, type WorldSketch } from '../../twin/world.ts'

export const EXTENSIONS: NonNullable<WorldSketch['extensions']> = [
  { tools: { echo: { approvalKey: '{city}' }, other: { approvalKey: '{city}' } } },
]
export const DAY_MS = 86_400_000
/** The start time of every clock. */
export const START = '2026-01-01T00:00:00.000Z'

export function createSetting(sketch: WorldSketch = {}) {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const world = createWorld({ extensions: EXTENSIONS, clock, store, ...sketch })
  return { clock, store, world, approvals: world.host.approvals }
}

/** Opens a session whose person always gives the same answer. */
export async function opened({ world }: { readonly world: World }, decision: 'once' | 'session' | 'project') {
  const approver = new ScriptedApprover(decision)
  return { session: await world.host.openSession({ approver }), asked: () => approver.asked.length }
}

export const call = (session: Session, city = 'Oslo', name = 'echo') =>
  session.call({ id: 'c', name, arguments: { city } })
