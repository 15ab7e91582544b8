import { readFileSync } from 'node:fs'
import type { Owner } from '@bulkhead/host'

/** This process, as others that share its store can tell whether it lives: by its id, and where that is told, its start. */
export function createProcessOwner(): Owner {
  return { id: `${process.pid}-${startOf(process.pid) ?? ''}-${crypto.randomUUID()}`, isGone }
}

function isGone(id: string): boolean {
  const [pid, start] = id.split('-')
  if (!/^[1-9]\d*$/.test(pid ?? '')) return true
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // Another process may have got the id meanwhile.
  const now = startOf(Number(pid))
  return start !== '' && now !== undefined && now !== start
}

/** In ticks since the machine started; undefined where the system does not tell. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before may hold anything, blanks and brackets too.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
