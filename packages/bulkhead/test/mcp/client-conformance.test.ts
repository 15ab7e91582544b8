import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ONLY_IN_SOAK, thoroughly } from '../../../../scripts/thoroughly.ts'
import { drive, type Scenario } from './client-conformance/drive.ts'

const FOLDER = join(import.meta.dirname, 'client-conformance')
const SUITE = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
/** For hangs only: the suite plays all scenarios at once. */
const LIMIT_MS = 600_000

const results = mkdtempSync(join(tmpdir(), 'bulkhead-conformance-'))
const driver = createServer(async (request, response) => {
  const played = drive(JSON.parse(await text(request)) as Scenario)
  await played.then((lines) => response.end(`${lines.join('\n')}\n`), (error: unknown) => {
    response.writeHead(500).end(`${String(error)}\n`)
  })
})

beforeAll(async () => {
  await once(driver.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  driver.close()
  rmSync(results, { recursive: true })
})

/** Runs the suite. Returns its summary and how it ended: 0 if everything that counts has passed. */
async function suite(...args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const command = `${process.execPath} ${join(FOLDER, 'fixtures/forward.ts')}`
  const env = { ...process.env, CONFORMANCE_DRIVER: `http://127.0.0.1:${(driver.address() as AddressInfo).port}` }
  const { code = 0, stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [SUITE, 'client', '--command', command, '-o', results, '--timeout', String(LIMIT_MS), ...args],
    { env, maxBuffer: 64 * 1024 * 1024 },
  ).catch((error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error) as {
    readonly code?: number; readonly stdout: string; readonly stderr: string
  }
  return { code, output: `${stdout}\n${stderr}` }
}

it('signs in again for a scope that a call demands', ONLY_IN_SOAK, async () => {
  const { code, output } = await suite('--scenario', 'auth/scope-step-up', '--spec-version', '2026-07-28')
  expect(output).toContain('OVERALL: PASSED')
  expect(code).toBe(0)
})

it.each(thoroughly([], ['2025-11-25', '2026-07-28']))(
  'passes every client scenario that %s requires',
  async (revision) => {
    const { code, output } = await suite('--requirements', revision)
    const unscored = new Set([...output.matchAll(/^ {2}✗ (\S+) \(/gm)].map(([, name]) => name))
    expect([...output.matchAll(/^✗ (\S+):/gm)].map(([, name]) => name).filter((name) => !unscored.has(name))).toEqual(
      [],
    )
    expect(output).toContain('SUITE SUMMARY')
    expect(code).toBe(0)
  },
  LIMIT_MS,
)
