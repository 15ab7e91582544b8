import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { hullFilter, isResourceShortage, mentionsResourceShortage, resourceShortage } from '@bulkhead/broker'
import { errorCode } from '@bulkhead/kit/error-message'
import { inactive, type OsLayer, type OsLayers } from './os-layer.ts'

export interface Machine {
  readonly node: string
  readonly architecture: string
  /** Absolute paths that only the system writes to: programs there are trusted. */
  readonly folders: readonly string[]
  /** Programs that are not used even if they are there; also `launcher`. */
  readonly hidden?: readonly string[]
}

/** The layers whose programs are installed, not yet tried. */
type InstalledLayers = Pick<OsLayers, 'rlimits' | 'bubblewrap' | 'seccomp'>

export async function installedLayers(
  { node, architecture, folders, hidden = [] }: Machine, needs: NodeNeeds,
): Promise<InstalledLayers> {
  const { libraries, memory } = needs
  const inside = nodeInside(node, libraries)
  const files = new Map([[inside, node], ...libraries.map((path) => [path, path] as const)])
  const filter = hullFilter(architecture)
  return {
    rlimits: memory === undefined
      ? inactive(UNKNOWN_MEMORY)
      : await installed('prlimit', folders, { ...memory, hard: await hardLimits() }),
    bubblewrap: await installed('bwrap', hidden.includes('bwrap') ? [] : folders, { node: inside, files, refusesNamespaces: true }),
    seccomp: filter === undefined
      ? inactive(`the numbers of system calls on ${architecture} are not known`)
      : { active: true, filter },
  }
}

/** Limits that the launcher sets, where `prlimit` does not work. */
export const limitsOfLauncher = async ({ memory }: NodeNeeds): Promise<OsLayers['rlimits']> => memory === undefined
  ? inactive(UNKNOWN_MEMORY) : { active: true, path: undefined, ...memory, hard: await hardLimits() }

const UNKNOWN_MEMORY = 'the memory use of Node is unknown, because /proc is not mounted'

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
    : `${program} cannot be looked for: the host was started with --permission, `
      + 'and may not read the folders of the system')
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
export async function hardLimits(): Promise<ReadonlyMap<string, number>> {
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
  ['cpu', 'Max cpu time'],
])

/** What this build of Node needs to run. */
export interface NodeNeeds {
  /** Shared libraries and their loader. */
  readonly libraries: readonly string[]
  /** Absent when /proc is not mounted. */
  readonly memory?: NodeMemory | undefined
}

/** What RLIMIT_DATA counts. */
interface NodeMemory {
  /** For idle Node. */
  readonly idleDataBytes: number
  /** For each idle worker. */
  readonly threadDataBytes: number
}

/** Runs in a child, because this process may have loaded further libraries. */
const REPORT_NEEDS = `
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
const dataBytes = () => {
  try {
    return 1024 * /^VmData:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))[1]
  } catch {}
}
const idleDataBytes = dataBytes()
new Worker('setInterval(() => {}, 1000)', { eval: true }).once('online', () => {
  const memory = idleDataBytes && { idleDataBytes, threadDataBytes: dataBytes() - idleDataBytes }
  process.report.excludeNetwork = true
  console.log(JSON.stringify({ loaded: process.report.getReport().sharedObjects, memory }))
  process.exit()
})`

/** Rejects when Node does not run, with NoPlaceFree when the system is out of resources. */
export async function nodeNeeds(node: string, timeoutMs: number): Promise<NodeNeeds> {
  // Explicit: otherwise it would inherit the host's permission flags.
  const rights = ['--permission', '--allow-fs-read=*', '--allow-worker']
  const args = [...rights, '--input-type=module', '--no-warnings', '--eval', REPORT_NEEDS]
  const options = { cwd: '/', env: {}, timeout: timeoutMs, killSignal: 'SIGKILL' } as const
  const output = await new Promise<string>((resolve, reject) => {
    execFile(node, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const why = oneLine(stderr) || oneLine(error.message)
      // Node aborts when it gets no thread or memory, and is killed when it is late.
      const wasKilled = typeof error.signal === 'string'
      const isTemporary = wasKilled || isResourceShortage(error) || mentionsResourceShortage(stderr)
      reject(isTemporary
        ? resourceShortage('Node could not be started', why, error)
        : new Error(`Node itself does not start here: ${why}`))
    })
  })
  const { loaded, memory } = JSON.parse(output) as { readonly loaded: readonly string[]; readonly memory?: NodeMemory }
  // The others are the program itself and mappings of the kernel.
  const libraries = loaded.filter((path) => path.startsWith('/') && path !== node).map((path) => normalize(path))
  return { libraries, memory }
}

/** The path of Node inside: a neutral one, unless Node finds its libraries relative to its own path. */
export function nodeInside(node: string, libraries: readonly string[]): string {
  const prefix = `${dirname(dirname(node))}/`
  return libraries.some((path) => path.startsWith(prefix)) ? node : '/node'
}

const LINE_CHARS = 300

/** Output of another program, shortened to one line without control characters. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim().slice(0, LINE_CHARS)
}
