import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HttpServing } from '@bulkhead/bridges/mcp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { NOT_PASSED } from './not-passed.ts'
import { serveFixture } from './served-fixture.ts'

/** `npm test` runs some scenarios of each era; `pnpm soak` runs all that a version requires. */
const RUNS = thoroughly([
  '2025-11-25/elicitation-sep1330-enums', '2025-11-25/server-sse-polling', '2026-07-28/http-header-validation',
  '2026-07-28/input-required-result-basic-sampling',
], ['2025-11-25', '2026-07-28'])

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

describe('the official suite', LONG, () => {
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

  it('accepts the server, except for what is documented', async () => {
    const { url, tokens: [token] } = serving
    const env = { NO_COLOR: '1', HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
    const program = join(import.meta.dirname, 'fixtures/suite.mjs')
    const args = [program, url, token!, join(folder, 'out'), ...RUNS]
    const suite = spawn(process.execPath, args, { env, stdio: 'ignore' })
    expect(await once(suite, 'close')).toEqual([0, null])

    const results = ['2025-11-25', '2026-07-28'].flatMap((version) =>
      globSync(join(folder, 'out', version, '*/checks.json')).map((file) => {
        const [, scenario] = /server-(.*?)-\d{4}-\d{2}-\d{2}T[^/]*\/checks\.json$/.exec(file)!
        const checks = JSON.parse(readFileSync(file, 'utf8')) as readonly Check[]
        return { scenario: `${version}/${scenario!}`, checks }
      }),
    )
    const failed = results.flatMap(({ scenario, checks }) =>
      checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
        .map((check) => ({ check: `${scenario} ${check.id}`, reported: JSON.stringify(check).slice(0, 2_000) })))
    // Each exception is a response of ours: the suite reports it, and no tool is absent.
    expect(
      failed.filter(({ check, reported }) => !reported.includes(NOT_PASSED.get(check) ?? 'a check that passes')),
    ).toEqual([])
    const ran = new Set(results.map(({ scenario }) => scenario))
    expect(ran.size).toBeGreaterThanOrEqual(RUNS.length)
    const known = [...NOT_PASSED.keys()].filter((one) => ran.has(one.split(' ', 1)[0]!))
    expect(failed.map(({ check }) => check).toSorted()).toEqual(known.toSorted())
  })
})

it('the guide names each exception', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/guides/mcp.md'), 'utf8')
  const scenarios = [...NOT_PASSED.keys()].map((one) => one.split(/[/ ]/)[1]!)
  expect(scenarios.filter((scenario) => !page.includes(`\`${scenario}\``))).toEqual([])
})
