import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isResourceShortage } from '@bulkhead/broker'
import { errorCode } from '@bulkhead/kit/error-message'
import type { NodeNeeds } from './node-needs.ts'
import { nodeInside } from './node-needs.ts'
import { inactive, type OsLayer, type OsLayers } from './os-layer.ts'
import { seccompFilter } from './seccomp-filter.ts'

export interface Machine {
  readonly node: string
  readonly architecture: string
  /** Absolute paths that only the system writes to: programs there are trusted. */
  readonly folders: readonly string[]
}

/** The layers whose programs are installed, not yet tried. */
export async function installedLayers({ node, architecture, folders }: Machine, needs: NodeNeeds): Promise<OsLayers> {
  const { libraries, memory } = needs
  const inside = nodeInside(node, libraries)
  const files = new Map([[inside, node], ...libraries.map((path) => [path, path] as const)])
  const filter = seccompFilter(architecture)
  return {
    rlimits: memory === undefined
      ? inactive('the memory use of Node is unknown, because /proc is not mounted')
      : await installed('prlimit', folders, { ...memory, hard: await hardLimits() }),
    bubblewrap: await installed('bwrap', folders, { node: inside, files, refusesNamespaces: true }),
    seccomp: filter === undefined
      ? inactive(`the numbers of system calls on ${architecture} are not known`)
      : { active: true, filter },
    utilLinux: inactive('bubblewrap does more'),
  }
}

/** Looks for a program in these folders. */
export async function installed<Means>(
  program: string,
  folders: readonly string[],
  means: Means,
): Promise<OsLayer<Means & { readonly path: string }>> {
  let seen = true
  for (const folder of folders) {
    const path = join(folder, program)
    const found = await lookFor(path)
    if (found === 'program') return { active: true, path, ...means }
    seen &&= found !== 'forbidden'
  }
  return inactive(seen
    ? `${program} is not installed`
    : `${program} cannot be looked for: the host was started with --permission, and may not read the folders of the system`)
}

async function lookFor(path: string): Promise<'program' | 'nothing' | 'forbidden'> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile() ? 'program' : 'nothing'
  } catch (error) {
    return errorCode(error) === 'ERR_ACCESS_DENIED' ? 'forbidden' : 'nothing'
  }
}

/** Hard limits by their `prlimit` names; unlimited ones are absent. Rejects when the system is out of resources. */
async function hardLimits(): Promise<ReadonlyMap<string, number>> {
  const text = await readFile('/proc/self/limits', 'latin1').catch((error: unknown) => {
    if (isResourceShortage(error)) throw error
    return ''
  })
  const hard = new Map<string, number>()
  for (const [resource, line] of LINES) {
    const limit = new RegExp(`^${line} +\\w+ +(\\d+) `, 'm').exec(text)?.[1]
    if (limit !== undefined) hard.set(resource, Number(limit))
  }
  return hard
}

const LINES: ReadonlyMap<string, string> = new Map([
  ['data', 'Max data size'],
  ['nofile', 'Max open files'],
  ['fsize', 'Max file size'],
  ['core', 'Max core file size'],
  ['memlock', 'Max locked memory'],
  ['msgqueue', 'Max msgqueue size'],
])
