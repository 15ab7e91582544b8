// Runs one PostgreSQL for the process that started it, and removes every trace when that process has ended, however it
// did: then the input of this one ends. It writes a line of JSON when the server is ready, and one for each command.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findPostgres, preparePrograms } from './binaries.ts'
import { asServer, makeCluster } from './cluster.ts'

const SETTINGS = {
  listen_addresses: '127.0.0.1', max_connections: '200', shared_buffers: '32MB', max_wal_size: '256MB',
  // The operating system keeps what was written when the server is killed. No test cuts the power.
  fsync: 'off', full_page_writes: 'off', autovacuum: 'off', logging_collector: 'off', log_min_messages: 'fatal',
}

const { settings, files } = JSON.parse(process.argv[2]!) as {
  readonly settings: Readonly<Record<string, string>>
  /** Written to the folder of the data before the start. */
  readonly files: Readonly<Record<string, string>>
}
const folder = mkdtempSync(join(tmpdir(), 'bulkhead-postgres-'))
const data = join(folder, 'data')
let server: ChildProcess | undefined
let port = 0

// The process that started this one ends it, also if somebody interrupts a whole group of processes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.stdout.on('error', () => undefined)
process.on('exit', () => {
  signalAll('SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port: found } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return found
}

async function start(programs: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    port ||= await freePort()
    const all = { ...SETTINGS, unix_socket_directories: folder, port: String(port), ...settings }
    const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const started = spawn(join(programs, 'postgres'), ['-D', data, ...options], {
      ...asServer, cwd: folder, env: {}, stdio: ['ignore', 'ignore', 'pipe'],
    })
    server = started
    let said = ''
    started.stderr!.setEncoding('utf8').on('data', (text: string) => { said = (said + text).slice(-4_000) })
    if (await isReady(started)) return
    // Another process may have taken the port meanwhile.
    if (attempt === 5) throw new Error(`PostgreSQL did not start: ${said}`)
    port = 0
  }
}

/** The last line of its file says whether it accepts connections. */
async function isReady(started: ChildProcess): Promise<boolean> {
  while (started.exitCode === null && started.signalCode === null) {
    try {
      const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
      if (Number(lines[0]) === started.pid && lines[7]?.startsWith('ready')) return true
    } catch {
      // Not written yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return false
}

/** Each with its parent. */
function processes(): readonly (readonly [pid: number, parent: number])[] {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    return stdout.trim().split('\n').map((line) => line.trim().split(/\s+/).map(Number) as [number, number])
  }
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      return [[Number(pid), Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1])] as const]
    } catch {
      return []
    }
  })
}

/** To the server and the process of each connection: a stopped one would stay when the server is killed. */
function signalAll(signal: NodeJS.Signals): void {
  if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
  const children = processes().flatMap(([pid, parent]) => parent === server?.pid ? [pid] : [])
  server.kill(signal)
  for (const pid of children) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended.
    }
  }
}

async function stop(): Promise<void> {
  if (!server || server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGINT')
  await ended
}

const COMMANDS: Readonly<Record<string, (programs: string) => unknown>> = {
  stop, pause: () => signalAll('SIGSTOP'), resume: () => signalAll('SIGCONT'),
  kill: () => signalAll('SIGKILL'),
  async restart(programs) {
    await stop()
    await start(programs)
  },
}

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

try {
  chmodSync(folder, 0o755)
  const programs = preparePrograms(findPostgres()!, folder)
  const password = makeCluster(programs, data, folder, files)
  await start(programs)
  say({ port, password, folder, pid: server!.pid })
  for await (const command of createInterface({ input: process.stdin })) {
    await COMMANDS[command]?.(programs)
    say({ pid: server!.pid })
  }
  process.exit()
} catch (error) {
  say({ error: String(error) })
  process.exit(1)
}
