import type { Attack, AttackPlacement } from '../case.ts'
import { PLACEMENTS } from '../case.ts'
import { ATTACKS, ATTACKS_HERE, attackOf } from '../cases/index.ts'
import type { Layers } from '../layers.ts'
import { ALL_LAYERS } from '../layers.ts'
import type { RunOptions } from './run.ts'
import { runAttacks } from './run.ts'
import type { HostFate, Observation } from './verdict.ts'
import { faultsOf, reached } from './verdict.ts'

/** What a whole run came to: the part of it that is written down and compared. */
export interface Record {
  /** The version of Node it was measured on. */
  readonly node: string
  /** Attacks that a thread does not contain, with what happened to its host. */
  readonly notContainedInThread: { readonly [id: string]: string }
  /** Attacks that get somewhere once one layer is gone, by placement. */
  readonly withoutLockdown: ByPlacement
  readonly withoutPermission: ByPlacement
}
export type ByPlacement = { readonly [placement in AttackPlacement]: readonly number[] }

/** Attacks whose code reaches its aim where nothing confines it. */
export const REACHING: readonly Attack[] = ATTACKS.filter(({ control }) => control === 'reaches')

const onGate = ({ section }: Attack): boolean => section === 'M' || section === 'N'
/** Those of them that the gate of the host confines, and those that layers in the worker do. */
export const ON_GATE: readonly Attack[] = REACHING.filter(onGate)
export const CONFINED: readonly Attack[] = REACHING.filter((attack) => !onGate(attack))

/** Nothing confines an attack on the wire or by data but the gate; the others are confined in the worker. */
export const WITHOUT: { readonly [layer in 'lockdown' | 'native' | 'both' | 'gate']: Layers } = {
  lockdown: { ...ALL_LAYERS, lockdown: false },
  native: { ...ALL_LAYERS, native: false },
  both: { ...ALL_LAYERS, lockdown: false, native: false },
  gate: { ...ALL_LAYERS, gate: false },
}

export type MeasureOptions = Pick<RunOptions, 'lanes' | 'onObservation'>

/** Every attack by itself in both placements. */
export const runAll = (options: MeasureOptions): Promise<readonly Observation[]> =>
  runAttacks({ ...options, attacks: ATTACKS_HERE, placements: PLACEMENTS, apart: true })

/** Every attack that something in the worker confines, with one layer gone. */
export async function reachedWithout(layer: 'lockdown' | 'native', options: MeasureOptions): Promise<ByPlacement> {
  const observations = await runAttacks({ ...options, attacks: CONFINED, placements: PLACEMENTS, layers: WITHOUT[layer],
    apart: true })
  // A compartment that does not open holds everything and proves nothing.
  const closed = observations.filter(({ seen }) => seen[0]?.[0] === 'open')
  if (closed.length > 0) {
    const names = closed.map(({ id, placement }) => `${id} in a ${placement}`)
    throw new Error(`Without ${layer} these could not be opened: ${names.join(', ')}`)
  }
  const idsIn = (placement: AttackPlacement): readonly number[] => observations
    .filter((one) => one.placement === placement && (reached(one) || isLuck(one))).map(({ id }) => id).toSorted(byNumber)
  return { process: idsIn('process'), thread: idsIn('thread') }
}

/** The same code where nothing confines it: with both layers of the worker gone, or in a host without a gate. */
export async function runControls(attacks: readonly Attack[], options: MeasureOptions): Promise<readonly Observation[]> {
  const common = { ...options, placements: ['thread'] as const, apart: true }
  return [
    ...await runAttacks({ ...common, attacks: attacks.filter((attack) => !onGate(attack)), layers: WITHOUT.both }),
    ...await runAttacks({ ...common, attacks: attacks.filter(onGate), layers: WITHOUT.gate }),
  ]
}

/** What a thread did not contain of what it need not, with the fate of its host. */
export function notContainedInThread(observations: readonly Observation[]): Record['notContainedInThread'] {
  const open = observations.filter((one) => one.placement === 'thread'
    && (isLuck(one) || faultsOf(attackOf(one.id), one).length > 0))
  return Object.fromEntries(open.toSorted((one, other) => byNumber(one.id, other.id)).map((one) => [String(one.id), fateOf(one)]))
}

const isLuck = ({ id, placement }: Observation): boolean => placement === 'thread' && attackOf(id).lucky

const FATES: { readonly [kind in HostFate['kind']]: string } = {
  alive: 'reaches its aim',
  died: 'ends the host',
  blocked: 'cannot be ended',
  stuck: 'cannot be ended',
  swollen: 'takes memory of the host',
}

/** What may come of it by chance is told whichever of it was seen; anything else is told as it was seen. */
export function fateOf(observation: Observation): string {
  if (isLuck(observation)) return 'reaches its aim at times'
  const { fates } = attackOf(observation.id)
  const { kind } = observation.fate
  return fates.includes(kind) ? [...new Set(fates.map((one) => FATES[one]))].join(' or ') : FATES[kind]
}

const byNumber = (one: number, other: number): number => one - other
