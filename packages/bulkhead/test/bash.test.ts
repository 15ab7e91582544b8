import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApprovalRequest, Outcome } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, type Host } from '../src/index.ts'
import { operatorEnvironment } from '../src/facade/command-environment.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-facade-bash-')))
  host = await createHost({
    workspace: folder,
    home: join(folder, 'home'),
    cache: CACHE,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(folder, 'home'), DOOR_KEY: 'precious' },
    config: { mode: 'allowlist', allowlist: ['bash:ls', 'bash:cat'] },
  })
})
afterEach(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

async function session(decision: 'once' | 'reject') {
  const asked: ApprovalRequest[] = []
  const approve = async (request: ApprovalRequest) => {
    asked.push(request)
    return { decision }
  }
  const opened = await host.openSession({ approver: { approve } })
  const bash = (command: string): Promise<Outcome> =>
    opened.call({ id: crypto.randomUUID(), name: 'bash', arguments: { command } })
  return { bash, asked }
}

it('is offered like any other tool', () => {
  expect(host.tools().find(({ name }) => name === 'bash')).toMatchObject({
    layer: 'bundled', mode: 'local', kind: 'execute', gated: true,
  })
})

it('runs commands on the allow list, and asks for all others by their approval key', async () => {
  writeFileSync(join(folder, 'a.txt'), 'here\n')
  const { bash, asked } = await session('reject')
  expect(await bash('cat a.txt | cat')).toMatchObject({
    type: 'output', data: { stdout: 'here\n', stderr: '', exit_code: 0 },
  })
  expect(await bash('cat a.txt > b.txt')).toMatchObject({ type: 'error', error: { code: 'ApprovalDenied' } })
  expect(await bash('echo $DOOR_KEY')).toMatchObject({ type: 'error', error: { code: 'ApprovalDenied' } })
  // Where no wall stands, the keys say so.
  expect(asked.map(({ approvalKey }) => approvalKey.replace('[open] ', ''))).toEqual([
    'cat a.txt > b.txt', '[shell] echo $DOOR_KEY',
  ])
  expect(asked[1]!.reasons).toContain('it needs a shell: the variable $DOOR_KEY')
  expect(existsSync(join(folder, 'b.txt'))).toBe(false)
})

it.each(['', ' ', '\n\t'])('the blank command %j is invalid, and no person is asked about it', async (command) => {
  const { bash, asked } = await session('once')
  expect(await bash(command)).toMatchObject({ error: { code: 'InputInvalid' } })
  expect(asked).toEqual([])
})

it('runs with the settings of the user, and without their keys', async () => {
  const { bash } = await session('once')
  expect(await bash('printenv TERM')).toMatchObject({ data: { stdout: 'dumb\n' } })
  expect(await bash('printenv DOOR_KEY')).toMatchObject({ data: { exit_code: 1 } })
  expect(await bash('echo "[$DOOR_KEY]"')).toMatchObject({ data: { stdout: '[]\n' } })
})

it('lets commands wait if many run at once, over all sessions', LONG, async () => {
  writeFileSync(join(folder, 'a.txt'), 'here\n')
  const sessions = await Promise.all([session('reject'), session('reject'), session('reject')])
  const outcomes = await Promise.all(sessions.flatMap(({ bash }) => Array.from({ length: 6 }, () => bash('cat a.txt'))))
  expect(outcomes.map((outcome) => outcome.type === 'output' ? outcome.data : outcome.error_text))
    .toEqual(outcomes.map(() => ({ stdout: 'here\n', stderr: '', exit_code: 0 })))
})

it('returns the beginning of long output, and writes all of it to a file', async () => {
  const { bash } = await session('once')
  const outcome = await bash('seq 1 100000')
  expect(outcome.metadata).toMatchObject({ truncated: true })
  expect(readFileSync(outcome.metadata.output_path!, 'utf8')).toContain('99999')
})

it('uses only absolute folders of PATH and harmless variables of the environment', () => {
  const { path, env } = operatorEnvironment({
    PATH: '/usr/bin:.:bin::/usr/bin:/bin', HOME: '/h', AWS_SECRET_ACCESS_KEY: 'x', LD_PRELOAD: 'y', LC_ALL: 'C',
  })
  expect(path).toEqual(['/usr/bin', '/bin'])
  expect(env).toMatchObject({ HOME: '/h', LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' })
  expect(Object.keys(env).filter((name) => /SECRET|LD_/.test(name))).toEqual([])
})

/** With these settings of the tool. */
async function hostWith(settings: JsonObject): Promise<Host> {
  const other = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE, env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    config: { mode: 'yolo', tools: { bash: settings } },
  })
  onTestFinished(async () => void await other.close())
  return other
}
const WAITS = 'echo begun; echo wrong >&2; sleep 60; echo never'

it('keeps the output of a command that takes longer than the configured time', LONG, async () => {
  const other = await hostWith({ timeoutMs: 2_000 })
  const opened = await other.openSession()
  const late = { type: 'output', data: { stdout: 'begun\n', stderr: 'wrong\n', timed_out: true } }
  expect(await opened.call({ id: 'c1', name: 'bash', arguments: { command: WAITS } })).toMatchObject(late)
  const [own, limited] = await Promise.all([
    // A call may ask for more than the default.
    opened.call({ id: 'c2', name: 'bash', arguments: { command: 'sleep 2.5; echo done', timeout_ms: 30_000 } }),
    // A caller that sets a deadline gets the output before it.
    opened.call({ id: 'c3', name: 'bash', arguments: { command: WAITS, timeout_ms: 30_000 } }, { timeoutMs: 4_000 }),
  ])
  expect(own).toMatchObject({ type: 'output', data: { stdout: 'done\n', exit_code: 0 } })
  expect(limited).toMatchObject(late)
})

it('ends commands at the maximum, if that is less than the default', async () => {
  const other = await hostWith({ maxTimeoutMs: 2_000 })
  const opened = await other.openSession()
  expect(await opened.call({ id: 'c1', name: 'bash', arguments: { command: WAITS } }))
    .toMatchObject({ type: 'output', data: { stdout: 'begun\n', timed_out: true } })
})

it('takes timeouts up to the configured maximum, and shows it', async () => {
  const other = await hostWith({ maxTimeoutMs: 600_000 })
  const shown = other.tools().find(({ name }) => name === 'bash')!.inputSchema as { properties: Record<string, object> }
  expect(shown.properties['timeout_ms']).toMatchObject({ maximum: 600_000 })
  const opened = await other.openSession()
  const call = (timeout_ms: number) =>
    opened.call({ id: `c${timeout_ms}`, name: 'bash', arguments: { command: 'echo ok', timeout_ms } })
  expect(await call(600_000)).toMatchObject({ data: { stdout: 'ok\n' } })
  expect(await call(600_001)).toMatchObject({ error: { code: 'InputInvalid' } })
})

it('stays if one of its settings is unknown', async () => {
  const other = await hostWith({ maxOuput: '1KB' })
  expect(other.tools().some(({ name }) => name === 'bash')).toBe(true)
  expect(other.diagnostics).toMatchObject([
    { code: 'ConfigSchemaViolation', severity: 'warning', path: '/tools/bash/maxOuput' },
  ])
})
