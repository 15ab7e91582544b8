// A PostgreSQL for tests and benchmarks: started with the first use in a process, and gone with that process.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface PostgresServer {
  readonly host: string
  readonly port: number
  readonly password: string
  /** Where its socket is. */
  readonly folder: string
  /** The number of its first process. */
  readonly pid: number
  /** Of a schema. Its tables are made with the first use. */
  url(schema?: string): string
  stop(): Promise<void>
  /** Stops it, if it runs, and starts it again at the same port. */
  restart(): Promise<void>
  /** Stops every process of it where it stands: its connections stay open, and nothing answers. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Stops it for ever, and removes its folder. */
  close(): Promise<void>
}

export interface PostgresSettings {
  /** Of `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Written to the folder of the data before the start. */
  readonly files?: Readonly<Record<string, string>>
}

const KEEPER = fileURLToPath(new URL('keeper.ts', import.meta.url))

/** Starts a server of its own for a test that stops it or needs other settings. */
export async function startPostgres({ settings = {}, files = {} }: PostgresSettings = {}): Promise<PostgresServer> {
  const keeper = spawn(process.execPath, [KEEPER, JSON.stringify({ settings, files })], {
    // In a group of its own: what interrupts the tests must not interrupt the removal of the folder.
    detached: true, stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: keeper.stdout })[Symbol.asyncIterator]()
  const answer = async (): Promise<Record<string, unknown>> => {
    const { value = '{"error":"it ended"}' } = await lines.next() as { value?: string }
    const said = JSON.parse(value) as Record<string, unknown>
    if (said['error'] !== undefined) throw new Error(`The PostgreSQL of this test did not start: ${said['error'] as string}`)
    return said
  }
  const handles = [keeper, keeper.stdin, keeper.stdout] as readonly { ref?: () => void; unref?: () => void }[]
  const tell = async (command: string): Promise<void> => {
    for (const handle of handles) handle.ref?.()
    keeper.stdin.write(`${command}\n`)
    server.pid = (await answer())['pid'] as number
    for (const handle of handles) handle.unref?.()
  }
  const { port, password, folder, pid } = await answer() as Pick<PostgresServer, 'port' | 'password' | 'folder' | 'pid'>
  // A program that forgets the server ends all the same, and takes it along.
  for (const handle of handles) handle.unref?.()
  const server = {
    host: '127.0.0.1', port, password, folder, pid,
    url: (schema = 'bulkhead') => `postgres://postgres:${password}@127.0.0.1:${port}/postgres?schema=${schema}`,
    stop: () => tell('stop'),
    restart: () => tell('restart'),
    pause: () => tell('pause'),
    resume: () => tell('resume'),
    close: () => new Promise<void>((resolve) => {
      keeper.ref()
      keeper.once('exit', () => resolve())
      keeper.stdin.end()
    }),
  }
  return server
}

let shared: Promise<PostgresServer> | undefined

/** The server of this process. Tests share it, each with a schema of its own. */
export function sharedPostgres(): Promise<PostgresServer> {
  shared ??= startPostgres()
  return shared
}

let schemas = 0
/** A name that no other test of this process has. */
export const newSchema = (): string => `test_${++schemas}`
