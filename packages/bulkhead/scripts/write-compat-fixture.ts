// Writes the files that test/compat opens: `node scripts/write-compat-fixture.ts NAME`, where NAME is that of a new folder in
// test/compat/fixtures. Run it when a format on disk gets a new version. A fixture that exists is never written again: it must stay
// what the code of its time wrote.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createHost, openSqliteStore, type CreateHostOptions, type Outcome } from '../src/index.ts'
import { bulkhead } from '../test/command.ts'
import { writeProject, writeSources } from '../test/compat/extensions.ts'
import {
  ARCHIVE, claimPlace, clear, DECLINED, EXPORT, fixture, HOME, KILLED, ONCE, ROOT, storeIn, WORKSPACE, type Expected,
} from '../test/compat/place.ts'

const [name = '', ...more] = process.argv.slice(2)
if (name === '--killed') await beKilled()
else if (/^v\d+$/.test(name) && more.length === 0 && !existsSync(fixture(name))) await writeFixture(name)
else throw new Error(`Give the name of a new fixture, such as v2; "${name}" is none.`)

async function writeFixture(version: string): Promise<void> {
  using _ = await claimPlace()
  clear()
  await layFiles()
  await callTools()
  const archived = JSON.parse(await run('audit', 'archive', ARCHIVE, '--keep', '0', '--json', '--home', HOME)) as Anchor
  const paused = await callLater()
  writeFileSync(EXPORT, await run('audit', 'export', '--home', HOME))
  const verified = JSON.parse(await run('audit', 'verify', '--json', '--home', HOME)) as Anchor
  const killed = await killHost()
  const expected: Expected = { archiveAnchor: anchor(archived), anchor: anchor(verified), paused, ...killed }
  writeFileSync(join(ROOT, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`)
  const left = ['sources', 'home', 'global/cache', 'killed/bulkhead.db-shm']
  for (const path of left) rmSync(join(ROOT, path), { recursive: true, force: true })
  cpSync(ROOT, fixture(version), { recursive: true })
  clear()
}

interface Anchor {
  readonly last: number
  readonly link: string
}
function anchor({ last, link }: Anchor): string {
  return `${last}:${link}`
}

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await bulkhead(args, ROOT)
  if (code !== 0) throw new Error(`bulkhead ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`)
  return stdout
}

/** Configuration, lock files and the record of trust. */
async function layFiles(): Promise<void> {
  for (const folder of [WORKSPACE, HOME, KILLED]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const folder of [DECLINED, ONCE]) mkdirSync(join(folder, '.bulkhead'), { recursive: true })
  for (const folder of [DECLINED, ONCE]) writeFileSync(join(folder, '.bulkhead/config.json'), '{ "mode": "ask" }\n')
  // The approvals must stand for as long as the fixture is used.
  const config = { isolation: { global: 'thread', project: 'thread' }, approvals: { projectDays: 3650 } }
  writeFileSync(join(HOME, 'config.json'), `${JSON.stringify(config)}\n`)
  writeProject(WORKSPACE)
  writeFileSync(join(WORKSPACE, '.bulkhead/config.json'), '{ "rules": [{ "permission": "bash", "action": "deny" }] }\n')
  writeFileSync(join(WORKSPACE, 'log.txt'), 'all well\n')
  const { harbour, buoy, deck } = writeSources(join(ROOT, 'sources'))
  const place = ['--home', HOME, '--workspace', WORKSPACE]
  await run('trust', '--yes', ...place)
  await run('install', harbour, '--yes', ...place)
  await run('pack', buoy, '--out', join(ROOT, 'sources'))
  await run('install', join(ROOT, 'sources/buoy-1.0.0.tgz'), '--yes', ...place)
  await run('install', deck, '--project', '--yes', ...place)
  await run('install', join(WORKSPACE, '.bulkhead/tools/own'), '--project', '--yes', ...place)
  await run('trust', DECLINED, '--decline', '--home', HOME)
  await run('trust', ONCE, '--once', '--yes', '--home', HOME)
}

async function open(folder: string, options: Partial<CreateHostOptions> = {}) {
  const store = await openSqliteStore({ file: storeIn(folder) })
  return { store, host: await createHost({
    workspace: WORKSPACE, home: HOME, store, env: {}, config: { approvals: { project: true } }, ...options,
  }) }
}

function check(outcome: Outcome, wanted: string): Outcome {
  const code = outcome.type === 'output' ? 'output' : outcome.error.code
  if (code !== wanted) throw new Error(`${outcome.metadata.tool} ended with ${code} in place of ${wanted}`)
  return outcome
}

/** Approvals, state, and calls that end in every way. In the past: a host whose clock is behind takes no approval of the future. */
async function callTools(): Promise<void> {
  const now = Date.now
  const backMs = now() - Date.parse('2025-01-01')
  Date.now = () => now() - backMs
  const { host } = await open(HOME)
  const approving = (decision: 'project' | 'session' | 'reject') => ({ approver: { approve: async () => ({ decision, by: 'Ada' }) } })
  const always = await host.openSession(approving('project'))
  for (const who of ['Roald', 'Fridtjof']) check(await always.call({ id: who, name: 'greet', arguments: { name: who } }), 'output')
  check(await always.call({ id: 'nested', name: 'relay', arguments: { name: 'Otto' } }), 'output')
  for (const id of ['1', '2', '3']) check(await always.call({ id, name: 'count', arguments: {} }), 'output')
  for (const id of ['4', '5']) check(await always.call({ id, name: 'own_count', arguments: {} }), 'output')
  check(await always.call({ id: 'fails', name: 'fail', arguments: {} }), 'ToolExecutionFailed')
  check(await always.call({ id: 'slow', name: 'hang', arguments: {} }, { timeoutMs: 100 }), 'ExecutionTimeout')
  check(await always.call({ id: 'cancelled', name: 'hang', arguments: {} }, { signal: AbortSignal.timeout(100) }), 'ToolCancelled')
  const one = await host.openSession(approving('session'))
  check(await one.call({ id: 'session', name: 'greet', arguments: { name: 'Hjalmar' } }), 'output')
  const never = await host.openSession(approving('reject'))
  check(await never.call({ id: 'rejected', name: 'greet', arguments: { name: 'Carsten' } }), 'ApprovalDenied')
  const ruled = await host.openSession({ mode: 'yolo', rules: [{ permission: 'greet', pattern: '*', action: 'deny' }] })
  check(await ruled.call({ id: 'ruled', name: 'greet', arguments: { name: 'Roald' } }), 'RuleDenied')
  await host.close()
  Date.now = now
}

/** After the first records were archived: an approval that is revoked, arguments in the audit, and a call that pauses twice. */
async function callLater(): Promise<string> {
  await run('call', 'read', '--args', '{"path":"log.txt"}', '--home', HOME, '--workspace', WORKSPACE)
  const approvals = JSON.parse(await run('approvals', 'list', '--project', WORKSPACE, '--json', '--home', HOME)) as
    { readonly id: string; readonly approvalKey: string }[]
  const { id } = approvals.find(({ approvalKey }) => approvalKey === 'Fridtjof')!
  await run('approvals', 'revoke', id, '--project', WORKSPACE, '--home', HOME)
  const { host } = await open(HOME, { config: { audit: { arguments: true } } })
  const session = await host.openSession({ pause: true })
  check(await session.call({ id: 'again', name: 'greet', arguments: { name: 'Roald' } }), 'output')
  check(await session.call({ id: 'p', name: 'plan', arguments: {} }), 'ClarificationNeeded')
  const [paused] = await host.pausedCalls()
  check(await session.resume(paused!.id, 'Oslo'), 'ClarificationNeeded')
  await host.close()
  return paused!.id
}

/** A store as a host leaves it that is killed while calls are open and a paused call goes on. */
async function killHost(): Promise<Pick<Expected, 'killedAnchor' | 'killedPaused'>> {
  const child = spawn(process.execPath, [import.meta.filename, '--killed'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data') as [Buffer]
  child.kill('SIGKILL')
  await once(child, 'close')
  return JSON.parse(line.toString()) as Pick<Expected, 'killedAnchor' | 'killedPaused'>
}

async function beKilled(): Promise<void> {
  const { host, store } = await open(KILLED)
  const pausing = await host.openSession({ pause: true })
  check(await pausing.call({ id: 'p', name: 'plan', arguments: {} }), 'ClarificationNeeded')
  const [paused] = await host.pausedCalls()
  const asked = Promise.withResolvers<void>()
  const session = await host.openSession({
    mode: 'yolo', interactor: { interact: () => { asked.resolve(); return new Promise(() => {}) } },
  })
  check(await session.call({ id: 'c', name: 'count', arguments: {} }), 'output')
  const started = Promise.withResolvers<void>()
  host.on(({ type, ...event }) => { if (type === 'ToolInvocationStarted' && 'tool' in event && event.tool === 'hang') started.resolve() })
  void session.call({ id: 'open', name: 'hang', arguments: {} })
  void session.resume(paused!.id, 'Bergen')
  await Promise.all([asked.promise, started.promise])
  await host.flush()
  const { last, link } = await store.auditSpan()
  writeSync(1, JSON.stringify({ killedAnchor: anchor({ last, link }), killedPaused: paused!.id }))
  await new Promise(() => { setInterval(() => undefined, 1_000) })
}
