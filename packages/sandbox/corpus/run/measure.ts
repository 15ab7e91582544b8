import type { Attack, AttackPlacement } from '../model/case.ts'
import { PLACEMENTS } from '../model/case.ts'
import { ATTACKS, ATTACKS_HERE, attackOf } from '../cases/index.ts'
import type { Layers } from '../model/layers.ts'
import { ALL_LAYERS } from '../model/layers.ts'
import type { RunOptions } from './run.ts'
import { runAttacks } from './run.ts'
import type { HostFate } from '../model/fate.ts'
import type { Observation } from './verdict.ts'
import { faultsOf, reached } from './verdict.ts'

/** The results of a complete run that are recorded and compared. */
export interface Record {
  /** The version of Node it was measured on. */
  readonly node: string
  /** Attacks that a thread does not contain, with the effect on the host. */
  readonly notContainedInThread: { readonly [id: string]: string }
  /** Attacks that succeed without one layer, by placement. */
  readonly withoutLockdown: ByPlacement
  readonly withoutPermission: ByPlacement
}
export type ByPlacement = { readonly [placement in AttackPlacement]: readonly number[] }

/** Attacks that succeed where nothing confines them. */
export const REACHING: readonly Attack[] = ATTACKS.filter(({ control }) => control === 'reaches')

const onGate = ({ section }: Attack): boolean => section === 'M' || section === 'N'
/** Of these, the ones that the host's gate confines, and the ones that the layers of the worker confine. */
export const ON_GATE: readonly Attack[] = REACHING.filter(onGate)
export const CONFINED: readonly Attack[] = REACHING.filter((attack) => !onGate(attack))

/** Only the gate confines attacks on the wire and with data. The worker confines the others. */
export const WITHOUT: { readonly [layer in 'lockdown' | 'native' | 'both' | 'gate']: Layers } = {
  lockdown: { ...ALL_LAYERS, lockdown: false },
  native: { ...ALL_LAYERS, native: false },
  both: { ...ALL_LAYERS, lockdown: false, native: false },
  gate: { ...ALL_LAYERS, gate: false },
}

export type MeasureOptions = Pick<RunOptions, 'lanes' | 'onObservation'>

/** Runs every attack in its own compartment, in both placements. */
export const runAll = (options: MeasureOptions): Promise<readonly Observation[]> =>
  runAttacks({ ...options, attacks: ATTACKS_HERE, placements: PLACEMENTS, apart: true })

/** Runs every attack that the worker confines, without one layer. */
export async function reachedWithout(layer: 'lockdown' | 'native', options: MeasureOptions): Promise<ByPlacement> {
  const observations = await runAttacks({ ...options, attacks: CONFINED, placements: PLACEMENTS, layers: WITHOUT[layer],
    apart: true })
  // A compartment that does not open contains everything and proves nothing.
  const closed = observations.filter(({ seen }) => seen[0]?.[0] === 'open')
  if (closed.length > 0) {
    const names = closed.map(({ id, placement }) => `${id} in a ${placement}`)
    throw new Error(`Without ${layer} these could not be opened: ${names.join(', ')}`)
  }
  const idsIn = (placement: AttackPlacement): readonly number[] => observations
    .filter(
      (one) => one.placement === placement && (reached(one) || isLuck(one)),
    ).map(({ id }) => id).toSorted(byNumber)
  return { process: idsIn('process'), thread: idsIn('thread') }
}

/** Runs the same code where nothing confines it: without both layers of the worker, or in a host without a gate. */
export async function runControls(
  attacks: readonly Attack[], options: MeasureOptions,
): Promise<readonly Observation[]> {
  const common = { ...options, placements: ['thread'] as const, apart: true }
  return [
    ...await runAttacks({ ...common, attacks: attacks.filter((attack) => !onGate(attack)), layers: WITHOUT.both }),
    ...await runAttacks({ ...common, attacks: attacks.filter(onGate), layers: WITHOUT.gate }),
  ]
}

/** The attacks that a thread need not contain and did not contain, with the effect on the host. */
export function notContainedInThread(observations: readonly Observation[]): Record['notContainedInThread'] {
  const open = observations.filter((one) => one.placement === 'thread'
    && (isLuck(one) || faultsOf(attackOf(one.id), one).length > 0))
  return Object.fromEntries(open.toSorted((one, other) => byNumber(one.id, other.id))
    .map((one) => [String(one.id), fateOf(one)]))
}

const isLuck = ({ id, placement }: Observation): boolean => placement === 'thread' && attackOf(id).lucky

const FATES: { readonly [kind in HostFate['kind']]: string } = {
  alive: 'succeeds',
  died: 'ends the host',
  blocked: 'cannot be ended',
  stuck: 'cannot be ended',
  swollen: 'takes memory of the host',
}

/** Names all possible effects if the effect depends on chance, otherwise the one that was observed. */
export function fateOf(observation: Observation): string {
  if (isLuck(observation)) return 'succeeds at times'
  const { fates } = attackOf(observation.id)
  const { kind } = observation.fate
  return fates.includes(kind) ? [...new Set(fates.map((one) => FATES[one]))].join(' or ') : FATES[kind]
}

const byNumber = (one: number, other: number): number => one - other
