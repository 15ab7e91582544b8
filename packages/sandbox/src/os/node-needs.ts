import { isResourceShortage, resourceShortage, mentionsResourceShortage } from '@bulkhead/broker'
import { execFile } from 'node:child_process'
import { dirname, normalize } from 'node:path'

/** What this build of Node needs to run. */
export interface NodeNeeds {
  /** Shared libraries and their loader. */
  readonly libraries: readonly string[]
  /** Undefined when /proc is not mounted. */
  readonly memory: NodeMemory | undefined
}

/** What RLIMIT_DATA counts. */
export interface NodeMemory {
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
export async function nodeNeeds(node: string, patienceMs: number): Promise<NodeNeeds> {
  // Explicit: otherwise it would inherit the host's permission flags.
  const rights = ['--permission', '--allow-fs-read=*', '--allow-worker']
  const args = [...rights, '--input-type=module', '--no-warnings', '--eval', REPORT_NEEDS]
  const options = { cwd: '/', env: {}, timeout: patienceMs, killSignal: 'SIGKILL' } as const
  const output = await new Promise<string>((resolve, reject) => {
    execFile(node, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const why = oneLine(stderr) || oneLine(error.message)
      // Node aborts when it gets no thread or memory, and is killed when it is late.
      const isTemporary = isResourceShortage(error) || typeof error.signal === 'string' || mentionsResourceShortage(stderr)
      reject(isTemporary ? resourceShortage('Node could not be started', why, error) : new Error(`Node itself does not start here: ${why}`))
    })
  })
  const { loaded, memory } = JSON.parse(output) as { readonly loaded: readonly string[]; readonly memory?: NodeMemory }
  // The others are the program itself and mappings of the kernel.
  return { libraries: loaded.filter((path) => path.startsWith('/') && path !== node).map((path) => normalize(path)), memory }
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
