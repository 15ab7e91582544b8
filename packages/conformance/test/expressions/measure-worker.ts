import { parentPort } from 'node:worker_threads'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import type { Attack } from './attack-strings.ts'
import { attackOfLength, attacksOn } from './attack-strings.ts'
import type { Expression } from './expressions-in.ts'

/** The first length detects cubic time, the second quadratic time. `pnpm soak` tries every attack at the second one. */
const LENGTHS = [{ length: 512, step: 1 }, thoroughly({ length: 4_096, step: 8 }, { length: 6_144, step: 1 })]
/** For an eighth of the length, linear time is an eighth and quadratic time a sixty-fourth. */
const SHORTER = 8
/** Lengths at which exponential time is noticeable but still bounded. */
const TINY = [20, 26, 32, 38]
/** Processor time of this thread. On a long string, linear time is a hundredth of it and quadratic time a multiple. */
const SUSPICIOUS_US = 10_000
const SUPERLINEAR = 20
/** Attacks that are measured together. */
const GROUP = 16

export interface Measured {
  /** A string that takes superlinear time, or undefined. */
  readonly slowFor: string | undefined
}

parentPort!.on('message', (expression: Expression) => {
  parentPort!.postMessage({ slowFor: slowStringFor(expression) } satisfies Measured)
})

function slowStringFor(expression: Expression): string | undefined {
  // Without a repetition, the work at each position is bounded.
  if (!/[*+{]/.test(expression.pattern)) return undefined
  const compiled = new RegExp(expression.pattern, expression.flags.replaceAll(/[gy]/g, ''))
  const attacks = attacksOn(expression)
  for (const length of TINY) {
    const tiny = firstSlow(compiled, attacks, length, () => true)
    if (tiny !== undefined) return attackOfLength(tiny, length)
  }
  for (const { length, step } of LENGTHS) {
    const tried = attacks.filter((_, index) => index % step === 0)
    const slow = firstSlow(compiled, tried, length, (attack) =>
      workOf(compiled, attack, length) > SUPERLINEAR * workOf(compiled, attack, length / SHORTER))
    if (slow !== undefined) return attackOfLength(slow, length).slice(0, 40)
  }
  return undefined
}

/** The first attack that is slow on its own. For most expressions all attacks together are fast. */
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
  if (areFast(compiled, attacks, length)) return undefined
  // Measured twice, because the thread may have done other work the first time.
  return attacks.find((attack) => workOf(compiled, attack, length) > SUSPICIOUS_US
    && workOf(compiled, attack, length) > SUSPICIOUS_US && isSuperlinear(attack))
}

/**
 * By the clock, which never shows less than processor time and is much cheaper to read. Stops early, because a slow
 * group is measured again one by one.
 */
function areFast(compiled: RegExp, attacks: readonly Attack[], length: number): boolean {
  const texts = attacks.map((attack) => attackOfLength(attack, length))
  const end = performance.now() + SUSPICIOUS_US / 1000
  return texts.every((text) => {
    compiled.test(text)
    return performance.now() <= end
  })
}

function workOf(compiled: RegExp, attack: Attack, length: number): number {
  const text = attackOfLength(attack, length)
  const before = threadCpu()
  compiled.test(text)
  return threadCpu() - before
}

function threadCpu(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
