import { readdirSync, readFileSync } from 'node:fs'

const CLOSE_ON_EXEC = 0o2000000

/**
 * Descriptors above the three standard ones that a child would get from this process. Node opens none that way, but a
 * host may have been started with some, and on Linux Node closes only the first few of those; on macOS it closes all.
 */
export function inheritableDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fdinfo').map(Number).filter((descriptor) => descriptor > 2 && isInheritable(descriptor))
  } catch {
    return []
  }
}

/** Whether a child would get this descriptor as things are now. */
export function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  } catch {
    // It is not open, or not any more.
    return false
  }
}
