import { isResourceShortage, resourceShortage, mentionsResourceShortage } from '@bulkhead/broker'
import { execFile } from 'node:child_process'
import { dirname, normalize } from 'node:path'
import { oneLine } from './one-line.ts'

/** What one build of Node takes to run on this machine. */
export interface NodeNeeds {
  /** Shared libraries and their loader, as it names them. */
  readonly libraries: readonly string[]
  /** Not known where /proc is not mounted. */
  readonly memory: NodeMemory | undefined
}

/** What RLIMIT_DATA counts. */
export interface NodeMemory {
  /** Of Node before it does anything. */
  readonly idleDataBytes: number
  /** And for each idle worker in it. */
  readonly threadDataBytes: number
}

/** Said by a child, and not by this process, which may have loaded libraries of its own. */
const SAY_NEEDS = `
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

/** Rejects when Node does not run at all, with NoPlaceFree when it does not for now. */
export async function nodeNeeds(node: string, patienceMs: number): Promise<NodeNeeds> {
  // Named here, or Node would hand it those of a host that was started with some.
  const rights = ['--permission', '--allow-fs-read=*', '--allow-worker']
  const args = [...rights, '--input-type=module', '--no-warnings', '--eval', SAY_NEEDS]
  const options = { cwd: '/', env: {}, timeout: patienceMs, killSignal: 'SIGKILL' } as const
  const said = await new Promise<string>((resolve, reject) => {
    execFile(node, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const why = oneLine(stderr) || oneLine(error.message)
      // Node ends by a signal when it gets no thread or no memory, and is ended by one when it is late.
      const isPassing = isResourceShortage(error) || typeof error.signal === 'string' || mentionsResourceShortage(stderr)
      reject(isPassing ? resourceShortage('Node could not be started', why, error) : new Error(`Node itself does not start here: ${why}`))
    })
  })
  const { loaded, memory } = JSON.parse(said) as { readonly loaded: readonly string[]; readonly memory?: NodeMemory }
  // The others are the program itself and what the kernel maps without a file.
  return { libraries: loaded.filter((path) => path.startsWith('/') && path !== node).map((path) => normalize(path)), memory }
}

/** Where Node stands inside: out of the way, so that its place tells nothing, unless it finds its libraries by its place. */
export function nodeInside(node: string, libraries: readonly string[]): string {
  const prefix = `${dirname(dirname(node))}/`
  return libraries.some((path) => path.startsWith(prefix)) ? node : '/node'
}
