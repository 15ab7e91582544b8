import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HttpServing } from '@bulkhead/bridges/mcp'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { NOT_PASSED } from './not-passed.ts'
import { serveFixture } from './served-fixture.ts'

/** `npm test` runs a scenario of each era; `pnpm soak` runs all that a version requires. */
const RUNS = thoroughly(['2025-11-25/elicitation-sep1330-enums', '2026-07-28/http-header-validation'], ['2025-11-25', '2026-07-28'])

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

let folder: string
let serving: HttpServing
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-conformance-')))
  serving = await serveFixture(folder, thoroughly<'process' | 'thread'>('thread', 'process'))
})
afterAll(async () => {
  await serving.close()
  rmSync(folder, { recursive: true, force: true })
})

it('the official suite accepts the server, except for what is documented', async () => {
  const { url, tokens: [token] } = serving
  const env = { NO_COLOR: '1', HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const program = join(import.meta.dirname, 'fixtures/suite.mjs')
  const suite = spawn(process.execPath, [program, url, token!, join(folder, 'out'), ...RUNS], { env, stdio: 'ignore' })
  expect(await once(suite, 'close')).toEqual([0, null])

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

it('the guide names each exception', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/guides/mcp.md'), 'utf8')
  const scenarios = [...NOT_PASSED].map((one) => one.split(/[/ ]/)[1]!.replace(/^tasks-.*/, 'tasks-*'))
  expect(scenarios.filter((scenario) => !page.includes(`\`${scenario}\``))).toEqual([])
})
