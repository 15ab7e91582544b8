import { readFileSync, readlinkSync } from 'node:fs'
import type { OsLayers } from './os-layer.ts'
import { promisesOfLauncher } from './launcher-layer.ts'
import { findFault, NAMESPACES, promisesOf } from './util-linux.ts'

/** Bubblewrap, `unshare` and the shell in it each start the next process. */
const MOST_GENERATIONS = 8

/**
 * Why the walls around a running hull are not those of the layers, or undefined. Read from /proc by the host, so the
 * hull itself has no say in it. `pid`: the process that was started, which may have started the hull.
 */
export function missingWall(pid: number, layers: OsLayers): string | undefined {
  try {
    const hull = lastDescendant(pid)
    return faultOf(hull, readFileSync(`/proc/${hull}/status`, 'latin1'), layers)
  } catch {
    return 'its process cannot be examined'
  }
}

/** A hull starts no process, so it is the last one. */
function lastDescendant(pid: number): number {
  for (let generation = 0, last = pid; generation < MOST_GENERATIONS; generation++) {
    const children = readFileSync(`/proc/${last}/task/${last}/children`, 'latin1').trim()
    if (children === '') return last
    last = Number(children.split(' ')[0])
  }
  throw new RangeError('too many processes')
}

function faultOf(
  hull: number, status: string, { rlimits, bubblewrap, seccomp, launcher, utilLinux }: OsLayers,
): string | undefined {
  const says = (line: string): boolean => new RegExp(`^${line}$`, 'm').test(status)
  if (seccomp.active && !says('Seccomp:\\s+2')) return 'no filter of system calls stands around it'
  if (rlimits.active && !hasNoFiles(hull)) return 'no limits stand around it'
  if (!bubblewrap.active) {
    const promises = launcher.active ? promisesOfLauncher(launcher) : utilLinux.active ? promisesOf(utilLinux) : undefined
    const namespaces = NAMESPACES.map((name) => readlinkSync(`/proc/${hull}/ns/${name}`))
    return promises && findFault(promises, { status, namespaces })
  }
  if (!says('NoNewPrivs:\\s+1')) return 'it can gain privileges'
  if (!['CapEff', 'CapPrm'].every((set) => says(`${set}:\\s+0+`))) return 'it has capabilities'
  const shared = SEPARATE.filter((name) => !(bubblewrap.sharesNetwork && name === 'net') && isShared(hull, name))
  return shared.length === 0 ? undefined : `it shares namespaces of the host: ${shared.join(', ')}`
}

/** Of a hull in bubblewrap. Its own mounts are what hides the files of the host. */
const SEPARATE = [...NAMESPACES, 'mnt', 'user'] as const

const isShared = (hull: number, name: string): boolean =>
  readlinkSync(`/proc/${hull}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`)

/** The limit of the size of files, which no system sets by default. */
const hasNoFiles = (hull: number): boolean => /^Max file size +0 +0 /m.test(readFileSync(`/proc/${hull}/limits`, 'latin1'))
