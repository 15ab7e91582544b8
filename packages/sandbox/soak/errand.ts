import { BulkheadError } from '@bulkhead/contract'
import type { ErrorCode } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { Random } from './random.ts'

/** The only tool of every compartment. It does what its arguments say, including crashes. */
export const SOURCE = `
const sleep = (ms) => new Promise((resolve) => void setTimeout(resolve, ms))
export default { tools: { run: { async execute({ what, text }, runtime) {
  switch (what) {
    case 'echo': return text
    case 'talk': runtime.progress('one'); await runtime.state.write(text); return await runtime.state.read()
    case 'throw': throw new RangeError(text)
    case 'wait':
      return await new Promise((_, reject) =>
        runtime.signal.addEventListener('abort', () => reject(runtime.signal.reason)))
    case 'ignore': for (;;) await sleep(5)
    case 'spin': for (;;);
    case 'crash': setTimeout(() => { throw new Error(text) }, 1); return await sleep(1e6)
    case 'exit': process.exit(3)
  }
} } } }
`

/** What one call asks for, when it is cancelled, and how it may end. */
export interface Errand {
  readonly args: JsonObject & { readonly what: string; readonly text: string }
  readonly answer?: string
  readonly giveUp?: { readonly afterMs: number; readonly reason: BulkheadError }
  /** In addition to the ends that other calls in the same compartment can cause. */
  readonly codes: readonly ErrorCode[]
  /** A process is killed from outside while it runs. */
  readonly killsSome: boolean
}

/** How a call may end when another call ends its compartment. */
export const COLLATERAL: readonly ErrorCode[] = [
  'CompartmentCrashed', 'CompartmentKilled', 'CompartmentGone', 'CompartmentStartFailed', 'NoPlaceFree',
]

const CANCELLED = new BulkheadError('ToolCancelled', 'The caller has changed its mind.')
const LATE = new BulkheadError('ExecutionTimeout', 'The deadline is over.')

const KINDS: readonly (readonly [weight: number, what: string])[] = [
  [50, 'echo'], [20, 'talk'], [8, 'throw'], [12, 'wait'], [1.5, 'ignore'], [1, 'spin'], [2, 'crash'], [1.5, 'exit'],
  [1, 'killed'],
]

export function someErrand(random: Random): Errand {
  const text = `${random.below(1e9)}`.padEnd(random.chance(0.05) ? 20_000 : 20, 'x')
  const what = someKind(random)
  const giveUp = { afterMs: random.below(20), reason: random.pick([CANCELLED, LATE]) }
  const args = { what: what === 'killed' ? 'wait' : what, text }
  switch (what) {
    case 'echo':
    case 'talk':
      return random.chance(0.1)
        ? {
          args, answer: text, giveUp: { ...giveUp, afterMs: random.below(3) }, codes: [giveUp.reason.code],
          killsSome: false,
        }
        : { args, answer: text, codes: [], killsSome: false }
    case 'throw':
      return { args, codes: ['ToolExecutionFailed'], killsSome: false }
    case 'crash':
    case 'exit':
      return { args, codes: [], killsSome: false }
    default:
      return { args, giveUp, codes: [giveUp.reason.code], killsSome: what === 'killed' }
  }
}

function someKind(random: Random): string {
  let left = random.next() * KINDS.reduce((sum, [weight]) => sum + weight, 0)
  return KINDS.find(([weight]) => (left -= weight) < 0)?.[1] ?? 'echo'
}
