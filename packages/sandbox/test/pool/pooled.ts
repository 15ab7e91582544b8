import { readFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import type { PooledSandbox, SandboxOptions } from '../../src/index.ts'
import { createSandbox } from '../../src/index.ts'

/** Without the walls of the operating system, which have tests of their own and take their time, unless asked for. */
export function pooled(options: Partial<SandboxOptions> = {}): PooledSandbox {
  const sandbox = createSandbox({ workspace: '/', os: 'off', ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

/** Child processes of a process, as its main thread has started them, the oldest first. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** With what they have started in turn. */
export const descendantsOf = (pid: number): readonly number[] =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])

/** Gone, or only waiting to be counted by its parent. */
export const isGone = (pid: number): boolean => /[ZX]/.test(stateOf(pid))

export const isStopped = (pid: number): boolean => stateOf(pid) === 'T'

/** In the letter of the system. */
function stateOf(pid: number): string {
  try {
    return /^\d+ \(.*\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1]!
  } catch {
    return 'X'
  }
}
