import { isDeepStrictEqual } from 'node:util'
import type { Attack, AttackPlacement, Outcome } from '../model/case.ts'
import type { HostFate } from '../model/fate.ts'
import type { Layers } from '../model/layers.ts'
import type { Seen } from '../model/protocol.ts'

/** One attack in one placement, as observed. */
export interface Observation {
  readonly id: number
  readonly placement: AttackPlacement
  readonly layers: Layers
  readonly seen: readonly Seen[]
  readonly fate: HostFate
  /** Parts of the target that were read, changed or connected to. */
  readonly touched: readonly string[]
  readonly tookMs: number
}

const ANSWER = 'hello you'
/** Processor time. An attack that starves the host causes far longer delays. */
const MAX_LAG_MS = 2_000
/** Text of the extension in an error message is cut. */
const MAX_MESSAGE_CHARS = 12_000

/** Why an attack was not contained. Empty if it was. */
export function faultsOf(attack: Attack, observation: Observation): readonly string[] {
  const { seen, fate, touched } = observation
  return [...scriptFaults(attack, seen), ...touched, ...fateFaults(fate), ...busyFaults(attack, observation)]
}

/**
 * Whether the attack succeeded in any part: a result in its report, access to the target, or an effect on the host.
 * Without some layers the errors differ, so they are not compared.
 */
export function reached({ seen, fate, touched }: Pick<Observation, 'seen' | 'fate' | 'touched'>): boolean {
  return touched.length > 0 || fateFaults(fate).length > 0
    || seen.some(([, outcome]) => 'returned' in outcome && hasGot(outcome.returned))
}

function scriptFaults({ script }: Attack, seen: readonly Seen[]): readonly string[] {
  const faults = script.flatMap(([step, expected], index) => {
    const [took, outcome] = seen[index] ?? []
    if (took === undefined) return [`${step}: did not come to an end, should be ${JSON.stringify(expected)}`]
    return took === step && (isDeepStrictEqual(outcome, expected) || isHeapInstead(outcome, expected))
      ? []
      : [`${took}: ${JSON.stringify(outcome)?.slice(0, 500)}, should be ${step}: ${JSON.stringify(expected)}`]
  })
  return seen.length > script.length ? [...faults,
    `more was seen than expected: ${JSON.stringify(seen.slice(script.length))}`] : faults
}

/** A busy host measures memory late. Then V8 may reach the limit of its heap before. */
const isHeapInstead = (outcome: Outcome | undefined, expected: Outcome): boolean =>
  isDeepStrictEqual([outcome, expected], [{ refused: 'CompartmentOutOfHeap' }, { refused: 'CompartmentOutOfMemory' }])

/** Many short delays block a host as well. */
function busyFaults({ busyShare: most }: Attack, { fate, placement }: Observation): readonly string[] {
  // 1 means no limit: a share measured over a few milliseconds can exceed it.
  if (most >= 1 || placement !== 'process' || fate.kind !== 'alive' || fate.aftermath.busyShare <= most) return []
  return [`the host was busy for ${Math.round(100 * fate.aftermath.busyShare)} % of the time`]
}

function fateFaults(fate: HostFate): readonly string[] {
  switch (fate.kind) {
    case 'alive': {
      const { neighbour, lagMs, changed, leaks, longestMessage } = fate.aftermath
      return [
        ...(neighbour === ANSWER ? [] : [`the neighbour answered ${neighbour}`]),
        ...(lagMs <= MAX_LAG_MS ? [] : [`the host did not turn for ${lagMs} ms of the processor`]),
        ...changed.map((what) => `in the host: ${what}`),
        ...(longestMessage <= MAX_MESSAGE_CHARS ? [] : [`an error has ${longestMessage} characters`]),
        ...leaks.map((text) => `the secret leaked: ${text}`),
      ]
    }
    case 'died':
      return [`the host died: ${fate.how}`]
    case 'blocked':
      return ['the host was blocked']
    case 'stuck':
      return ['the host could not end it']
    case 'swollen':
      return [`the host grew to ${fate.megabytes} MB`]
  }
}

const hasGot = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (Object.hasOwn(value, 'got') || Object.values(value).some(hasGot))
