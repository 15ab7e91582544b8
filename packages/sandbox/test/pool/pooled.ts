import { readFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import type { PooledSandbox, SandboxOptions } from '../../src/index.ts'
import { createSandbox } from '../../src/index.ts'

/** By default without layers of the operating system, which have their own tests and are slow. */
export function pooled(options: Partial<SandboxOptions> = {}): PooledSandbox {
  const sandbox = createSandbox({ workspace: '/', os: 'off', ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

/** For tests in which an opening need not start a spare, which they would end unused. */
export const withoutSpares = (options: Partial<SandboxOptions> = {}): PooledSandbox =>
  pooled({ spares: { process: 0, thread: 0 }, ...options })

/** The child processes that the main thread of a process has started, oldest first. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Includes the children of children. */
export const descendantsOf = (pid: number): readonly number[] =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])

/** Gone, or a zombie. */
export const isGone = (pid: number): boolean => /[ZX]/.test(stateOf(pid))

export const isStopped = (pid: number): boolean => stateOf(pid) === 'T'

/** The state letter in /proc/PID/stat. */
function stateOf(pid: number): string {
  try {
    return /^\d+ \(.*\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1]!
  } catch {
    return 'X'
  }
}
