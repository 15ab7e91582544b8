import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { isAbsent } from '../fs/file-errors.ts'

const CLOSE_ON_EXEC = 0o2000000

/**
 * Descriptors above the three standard ones that a child would get from this process. Node opens none that way, but a
 * host may have been started with some, and on Linux Node closes only the first few of those; on macOS it closes all.
 * Contract: throws when it cannot be found out for now, as in a host that has no descriptors left.
 */
export function inheritableDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fdinfo').map(Number).filter((descriptor) => descriptor > 2 && isInheritable(descriptor))
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

/** Whether a child would get this descriptor as things are now, or might. */
export function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  } catch (error) {
    // It is not open, or not any more.
    return !isAbsent(error)
  }
}

export type Stdio = readonly ('pipe' | 'ignore' | number)[]

/** Starts a child without these descriptors. To ignore one leaves it open there; only another in its place takes it away. */
export function startMasked<Child>(stdio: Stdio, masked: readonly number[], start: (stdio: [...Stdio]) => Child): Child {
  if (masked.length === 0) return start([...stdio])
  const nothing = openSync('/dev/null', 'r')
  try {
    return start(Array.from({ length: Math.max(stdio.length, ...masked.map((at) => at + 1)) }, (_, at) => {
      const given = stdio[at] ?? 'ignore'
      return given === 'ignore' && masked.includes(at) ? nothing : given
    }))
  } finally {
    closeSync(nothing)
  }
}
