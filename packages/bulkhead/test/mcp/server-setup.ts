import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import { has } from '../../../../scripts/machine.ts'
import { inShell } from '../../../bridges/test/mcp/connecting/setup.ts'
import {
  createHost, createProgrammaticInteractor, type ConfigFile, type CreateHostOptions, type Host,
  type InteractionEnvelope, type SessionOptions, type Session,
} from '../../src/index.ts'
import { shareVerified } from '../cache.ts'

export let folder: string
export let home: string
let hosts: Host[]

/** Gives each test of a file a folder, and closes its hosts. */
export function useServers(): void {
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-connect-')))
    home = join(folder, 'home/.bulkhead')
    hosts = []
    mkdirSync(home, { recursive: true })
    shareVerified(home)
  })
  afterEach(async () => {
    await Promise.all(hosts.map((host) => host.close()))
    rmSync(folder, { recursive: true })
  })
}

const SERVER = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/sdk-server.ts')
/** The fixture, its packages and the sources that Node runs for it. */
const SOURCES = join(import.meta.dirname, '../../../..')
/** In a jail where that is possible. */
export const ship = () => ({
  type: 'local' as const, command: [process.execPath, SERVER, join(folder, 'notes')], env: ['NODE_COMPILE_CACHE'],
  requires: { fs: { read: [SOURCES], write: ['{workspace}'] } }, ...(!has('bubblewrap') && { jail: false }),
})
export const RAW = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/raw-server.js')
/** A server without the SDK, which starts four times as fast. It notes its start too. */
export const light = (...tools: readonly string[]) => {
  const script = join(folder, 'script.json')
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
  writeFileSync(script, JSON.stringify({ tools: tools.map((name) => ({ name, inputSchema })) }))
  const noting = `echo "started $$" >> '${join(folder, 'notes')}'; exec "$@"`
  return inShell(noting, { ...ship(), command: [process.execPath, RAW, script] })
}
/** Outside a jail its process ids are those of this machine. */
export const unconfined = () => ({ ...ship(), jail: false })
export const configure = (config: ConfigFile, root = home) => {
  mkdirSync(root, { recursive: true })
  writeFileSync(join(root, 'config.json'), JSON.stringify(config))
}
export const notes = (): readonly string[] =>
  existsSync(join(folder, 'notes')) ? readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n') : []
export async function open(options: Partial<CreateHostOptions> = {}): Promise<Host> {
  const host = await createHost({ workspace: folder, home, ...options })
  hosts.push(host)
  return host
}
/** A session with the tools of its servers. A busy machine may start a server later than a session waits for it. */
export async function openSession(host: Host, options: SessionOptions = {}): Promise<Session> {
  const session = await host.openSession(options)
  if (names(host).length > 0) return session
  // One that failed does not come back while a test waits.
  await expect.poll(() => names(host).length > 0 || shipOf(host)?.state === 'unavailable').toBe(true)
  expect(shipOf(host)).toMatchObject({ state: 'connected' })
  await session.close()
  return host.openSession(options)
}
export const shipOf = (host: Host) => host.mcp.servers().find(({ name }) => name === 'ship')
export const environment = () => ({ PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] })
export const names = (host: Host) => host.tools().map(({ name }) => name).filter((name) => name.startsWith('ship_'))

export const isAlive = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

/** A user who answers every approval like this. Records the prompts. */
export function person(decision: 'once' | 'session' | 'reject') {
  const interactor = createProgrammaticInteractor()
  const shown: InteractionEnvelope[] = []
  interactor.onQuestion((envelope) => {
    shown.push(envelope)
    const value =
      envelope.request.kind === 'Approve' ? { decision } : envelope.request.kind === 'Confirm' ? true : 'said'
    queueMicrotask(() => interactor.answer(envelope.correlationId, { status: 'accepted', value }))
  })
  return { interactor, shown, approvals: () => shown.filter(({ request }) => request.kind === 'Approve').length }
}
