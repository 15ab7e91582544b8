import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApprovalRequest, Outcome } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
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
  const bash = (command: string): Promise<Outcome> => opened.call({ id: crypto.randomUUID(), name: 'bash', arguments: { command } })
  return { bash, asked }
}

it('is offered like any other tool', () => {
  expect(host.tools().find(({ name }) => name === 'bash')).toMatchObject({ layer: 'bundled', mode: 'local', kind: 'execute', gated: true })
})

it('runs commands on the allow list, and asks for all others by their approval key', async () => {
  writeFileSync(join(folder, 'a.txt'), 'here\n')
  const { bash, asked } = await session('reject')
  expect(await bash('cat a.txt | cat')).toMatchObject({ type: 'output', data: { stdout: 'here\n', stderr: '', exit_code: 0 } })
  expect(await bash('cat a.txt > b.txt')).toMatchObject({ type: 'error', error: { code: 'ApprovalDenied' } })
  expect(await bash('echo $DOOR_KEY')).toMatchObject({ type: 'error', error: { code: 'ApprovalDenied' } })
  // Where no wall stands, the keys say so.
  expect(asked.map(({ approvalKey }) => approvalKey.replace('[open] ', ''))).toEqual(['cat a.txt > b.txt', '[shell] echo $DOOR_KEY'])
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

it('lets commands wait if many run at once, over all sessions', async () => {
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
  const { path, env } = operatorEnvironment({ PATH: '/usr/bin:.:bin::/usr/bin:/bin', HOME: '/h', AWS_SECRET_ACCESS_KEY: 'x', LD_PRELOAD: 'y', LC_ALL: 'C' })
  expect(path).toEqual(['/usr/bin', '/bin'])
  expect(env).toMatchObject({ HOME: '/h', LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' })
  expect(Object.keys(env).filter((name) => /SECRET|LD_/.test(name))).toEqual([])
})
