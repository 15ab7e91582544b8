import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runsIf } from '../../../scripts/skips.ts'
import { LONG, ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'

const packages = join(import.meta.dirname, '../..')
let folder: string
beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-node-')) })
afterAll(() => rmSync(folder, { recursive: true }))

const FAULT =
  /Bulkhead needs Node 26 or newer, because older versions cannot block the network for a tool\. This is Node (\d+)/

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

const run = (node: string, args: readonly string[], cwd = folder): Ran =>
  spawnSync(node, args, {
    cwd, encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  })

describe('on a Node version that cannot block the network', () => {
  /** Fakes the version that a program sees. */
  const preload = 'data:text/javascript,'
    + 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "24.9.0" } })'
  const source = (path: string): string => JSON.stringify(join(packages, path))

  it('the sandbox, the host and the library refuse to start, with the reason', LONG, () => {
    const { status, stdout, stderr } = run(process.execPath, [
      '--no-warnings', '--import', preload, '--input-type=module', '--eval',
      `
      const refusal = (start) => start().then(() => 'started', (error) => error.message)
      const sandbox = ${source('sandbox/src/index.ts')}
      console.log(await refusal(async () => (await import(sandbox)).createSandbox({ workspace: '/' })))
      console.log(await refusal(async () => (await import(${source('host/src/index.ts')})).createHost({})))
      await import(${source('bulkhead/src/index.ts')})
    `,
    ])
    expect([status, FAULT.exec(stderr)?.[1]]).toEqual([1, '24'])
    expect(stdout.trimEnd().split('\n').map((line) => FAULT.exec(line)?.[1])).toEqual(['24', '24'])
  })
})

/** An older Node that is installed on this machine. */
const old = ['/usr/local/bin/node', '/usr/bin/node', '/bin/node'].find((path) => {
  const major = Number(/^v(\d+)/.exec(run(path, ['--version'], '/').stdout ?? '')?.[1])
  return major > 0 && major < 26
})

// Builds three packages.
describe(
  'on an older Node, as published', { ...runsIf(old !== undefined, 'needs an older Node'), ...ONLY_IN_SOAK },
  () => {
    beforeAll(() => {
      for (const [name, from] of [
        ['bulkhead', 'bulkhead'], ['@bulkhead/contract', 'contract'], ['@bulkhead/kit', 'kit'],
      ] as const) {
        const to = join(folder, 'node_modules', name)
        mkdirSync(to, { recursive: true })
        const { publishConfig, ...manifest } = JSON.parse(
          readFileSync(join(packages, from, 'package.json'), 'utf8'),
        ) as Record<string, object>
        writeFileSync(join(to, 'package.json'), JSON.stringify({ ...manifest, ...publishConfig }))
        const built = mkdtempSync(join(folder, 'built-'))
        const tsdown = join(packages, '../node_modules/.bin/tsdown')
        const args = ['--config-loader', 'native', '--config', '../../tsdown.shared.ts', '--no-dts', '--out-dir', built]
        expect(run(tsdown, args, join(packages, from))).toMatchObject({ status: 0 })
        cpSync(built, join(to, 'dist'), { recursive: true })
      }
    })

    it('the library names the required version, not a missing builtin', () => {
      const { status, stderr } = run(old!, ['--input-type=module', '--eval', 'await import("bulkhead")'])
      expect([status, FAULT.test(stderr)]).toEqual([1, true])
      expect(stderr).not.toMatch(/ERR_UNKNOWN_BUILTIN_MODULE|SyntaxError/)
    })

    it('the command prints the same in one line', () => {
      const { status, stdout, stderr } = run(old!, [join(folder, 'node_modules/bulkhead/dist/bin.js'), 'tools'])
      expect([status, stdout, FAULT.test(stderr), stderr.trim().split('\n').length]).toEqual([2, '', true, 1])
    })
  },
)
