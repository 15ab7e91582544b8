import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serveToolsOverHttp, type HttpServing } from '@bulkhead/bridges/mcp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { createHost, type Host } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { ERAS } from './served-world.ts'

const INSPECTOR = fileURLToPath(
  new URL('clients/launcher/build/index.js', import.meta.resolve('@modelcontextprotocol/inspector/package.json')),
)
const BIN = join(import.meta.dirname, '../../src/bin.ts')

let folder: string
let host: Host
let serving: HttpServing
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-inspector-')))
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(workspace)
  mkdirSync(home)
  writeFileSync(join(workspace, 'notes.md'), 'hello\n')
  host = await createHost({ workspace, home, cache: CACHE, trust: 'declined' })
  serving = await serveToolsOverHttp(host, {
    info: { name: 'bulkhead', version: '1.0.0' }, openSession: (interactor) => host.openSession({ interactor }),
  })
})
afterAll(async () => {
  await serving.close()
  await host.close()
  rmSync(folder, { recursive: true })
})

/** Runs the official inspector, with a home of its own. */
async function inspect(target: readonly string[], options: readonly string[]) {
  const env = {
    NO_COLOR: '1', HOME: folder, PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  }
  const child = spawn(process.execPath, [INSPECTOR, '--cli', ...target, ...options, '--format', 'json'], { env })
  let out = ''
  let told = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { told += text })
  const [code] = await once(child, 'close') as [number | null]
  expect(code, told).toBe(0)
  return { told, result: (JSON.parse(out) as { readonly result: unknown }).result }
}

const TARGETS: readonly (readonly [string, () => readonly string[]])[] = [
  [
    'standard input and output',
    () => [
      process.execPath, ...BUNDLED, BIN, 'mcp', '--workspace', join(folder, 'work'), '--home', join(folder, 'home'),
    ],
  ],
  ['HTTP', () => [serving.url, '--transport', 'http', '--header', `Authorization: Bearer ${serving.tokens[0]}`]],
]

/** Each command starts the inspector, which takes a second. */
describe.each(TARGETS)('the official inspector over %s', ONLY_IN_SOAK, (_, target) => {
  it.each(ERAS)('lists and calls tools in the %s era', async (era) => {
    const { told, result } = await inspect(target(), ['--protocol-era', era, '--method', 'tools/list', '--strict'])
    expect(told).toContain('0 errors')
    expect(result).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: 'read' })]) as unknown,
    })
    const called = await inspect(target(), [
      '--protocol-era', era, '--method', 'tools/call', '--tool-name', 'read', '--tool-args-json', '{"path":"notes.md"}',
    ])
    expect(called.result).toMatchObject({ structuredContent: { content: 'hello\n' } })
  })
})
