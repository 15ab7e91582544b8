import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { NOT_PASSED } from './not-passed.ts'

/** `npm test` runs a few scenarios of each era; `pnpm soak` runs all that a version requires. */
const RUNS = thoroughly([
  '2025-11-25/tools-call-with-progress', '2025-11-25/server-session-lifecycle', '2025-11-25/server-sse-multiple-streams',
  '2026-07-28/tools-call-with-progress', '2026-07-28/http-header-validation', '2026-07-28/dns-rebinding-protection',
], ['2025-11-25', '2026-07-28'])

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

const BIN = join(import.meta.dirname, '../../src/bin.ts')
const env = () => ({ NO_COLOR: '1', HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' })
let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-conformance-')))
  mkdirSync(join(folder, 'work'))
  cpSync(join(import.meta.dirname, 'fixtures/extension'), join(folder, 'home/tools/conformance'), { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true }))

it('the official suite accepts the server, except for what is documented', async () => {
  const places = ['--workspace', join(folder, 'work'), '--home', join(folder, 'home')]
  const server = spawn(process.execPath, [BIN, 'mcp', '--http', '--port', '0', '--all', '--mode', 'yolo', ...places], { env: env() })
  let printed = ''
  server.stderr.setEncoding('utf8').on('data', (text: string) => { printed += text })
  const address = /^Serving MCP at (http:\/\/127\.0\.0\.1:\d+\/mcp)\nAuthorization: Bearer ([\w-]{43})\n$/m
  await vi.waitFor(() => expect(printed).toMatch(address), 30_000)
  const [, url, token] = address.exec(printed)!
  const suite = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/suite.mjs'), url!, token!, join(folder, 'out'), ...RUNS], { env: env(), stdio: 'ignore' })
  expect(await once(suite, 'close')).toEqual([0, null])
  server.kill('SIGTERM')
  expect(await once(server, 'close')).toEqual([0, null])

  const results = ['2025-11-25', '2026-07-28'].flatMap((version) => globSync(join(folder, 'out', version, '*/checks.json')).map((file) => {
    const [, scenario] = /server-(.*?)-\d{4}-\d{2}-\d{2}T[^/]*\/checks\.json$/.exec(file)!
    return { scenario: `${version}/${scenario!}`, checks: JSON.parse(readFileSync(file, 'utf8')) as readonly Check[] }
  }))
  const failed = results.flatMap(({ scenario, checks }) =>
    checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, errorMessage = '' }) => ({ scenario, check: `${scenario} ${id}`, why: errorMessage.slice(0, 300) })))
  expect(failed.filter(({ scenario, check }) => !NOT_PASSED.has(scenario) && !NOT_PASSED.has(check))).toEqual([])
  // Each exception is one that the suite still reports.
  const reported = new Set(failed.flatMap(({ scenario, check }) => [scenario, check]))
  const ran = new Set(results.map(({ scenario }) => scenario))
  expect(ran.size).toBeGreaterThanOrEqual(RUNS.length)
  expect([...NOT_PASSED].filter((one) => ran.has(one.split(' ', 1)[0]!) && !reported.has(one))).toEqual([])
})
