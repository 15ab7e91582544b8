import { parentPort } from 'node:worker_threads'
import type { Attack } from './attack-strings.ts'
import { attackOfLength, attacksOn } from './attack-strings.ts'
import type { Expression } from './expressions-in.ts'

/** Cubic work shows at the first length, quadratic work at the second. */
const LENGTHS = [512, 8_192]
/** An eighth of the length: an eighth of the work where it is linear, a sixty-fourth where it is quadratic. */
const SHORTER = 8
/** Where exponential work shows, before it takes for ever. */
const TINY = [20, 26, 32, 38]
/** Processor time of this thread. A linear search of a long text takes a hundredth of it, a quadratic one several times as much. */
const SUSPICIOUS_US = 10_000
const SUPERLINEAR = 20
/** Attacks that are measured together. */
const GROUP = 16

export interface Measured {
  /** What the expression is slow for; undefined when nothing is. */
  readonly slowFor: string | undefined
}

parentPort!.on('message', (expression: Expression) => {
  parentPort!.postMessage({ slowFor: slowStringFor(expression) } satisfies Measured)
})

function slowStringFor(expression: Expression): string | undefined {
  const compiled = new RegExp(expression.pattern, expression.flags.replaceAll(/[gy]/g, ''))
  const attacks = attacksOn(expression)
  for (const length of TINY) {
    const tiny = firstSlow(compiled, attacks, length, () => true)
    if (tiny !== undefined) return attackOfLength(tiny, length)
  }
  for (const length of LENGTHS) {
    const slow = firstSlow(compiled, attacks, length, (attack) =>
      workOf(compiled, [attack], length) > SUPERLINEAR * workOf(compiled, [attack], length / SHORTER))
    if (slow !== undefined) return attackOfLength(slow, length).slice(0, 40)
  }
  return undefined
}

/** The first that takes long alone. Most expressions are through with all of them in less. */
function firstSlow(
  compiled: RegExp, attacks: readonly Attack[], length: number, isSuperlinear: (attack: Attack) => boolean,
): Attack | undefined {
  if (attacks.length > GROUP) {
    for (let at = 0; at < attacks.length; at += GROUP) {
      const found = firstSlow(compiled, attacks.slice(at, at + GROUP), length, isSuperlinear)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (workOf(compiled, attacks, length) <= SUSPICIOUS_US) return undefined
  // Twice: the first time, the thread may have had something else to do.
  return attacks.find((attack) => workOf(compiled, [attack], length) > SUSPICIOUS_US
    && workOf(compiled, [attack], length) > SUSPICIOUS_US && isSuperlinear(attack))
}

/** Stops as soon as it is suspicious: a group that is slow for several is measured one by one anyway. */
function workOf(compiled: RegExp, attacks: readonly Attack[], length: number): number {
  const texts = attacks.map((attack) => attackOfLength(attack, length))
  const before = threadCpu()
  for (const text of texts) {
    compiled.test(text)
    const work = threadCpu() - before
    if (work > SUSPICIOUS_US) return work
  }
  return threadCpu() - before
}

function threadCpu(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
