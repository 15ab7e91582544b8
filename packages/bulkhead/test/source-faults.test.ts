import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runsIf } from '../../../scripts/skips.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-source-faults-')) })
afterAll(() => rmSync(folder, { recursive: true }))

const PACKAGE = { name: 'weather', version: '1.0.0', type: 'module', description: 'Forecasts.' }
const tool = (more: string) => `export default {
  tools: {
    'forecast': { description: 'Gets a forecast.', ${more} execute: () => 1 },
  },
}
`

it.each<[string, string, object | undefined, RegExp]>([
  [
    'a key of a tool', tool('timeoutMs: -1,'), PACKAGE,
    /^ShapeInvalid index\.ts, line 3: \/tools\/0\/timeoutMs is wrong: /,
  ],
  [
    'the input', tool("input: { type: 'objekt' },"), PACKAGE,
    /^ShapeInvalid index\.ts, line 3: \/tools\/0\/inputSchema\/type is wrong/,
  ],
  [
    'an approval key', tool("input: { type: 'object', additionalProperties: false }, approvalKey: '{town}',"), PACKAGE,
    /^ApprovalKeyInvalid index\.ts, line 3: The approval key "\{town\}" uses the argument "town"/,
  ],
  [
    'a schema', tool("input: { type: 'object', properties: { a: { type: 'objekt' } } },"), PACKAGE,
    /^ConfigSchemaInvalid index\.ts, line 3: /,
  ],
  [
    'the configuration',
    "export default { configSchema: { type: 'string' }, tools: { a: { description: 'A.', execute: () => 1 } } }",
    PACKAGE, /^ShapeInvalid index\.ts, line 1: \/configSchema\/type is wrong/,
  ],
  ['no tools', 'export default {}', PACKAGE, /^ShapeInvalid index\.ts exports no extension\./],
  [
    'no version', tool(''), { ...PACKAGE, version: undefined },
    /^ShapeInvalid package\.json, line 1: \/version is missing/,
  ],
  [
    'a bad name', tool(''), { ...PACKAGE, name: 'My_Weather' },
    /^ShapeInvalid package\.json, line 1: .*must be a lower-case letter/,
  ],
  [
    'a bad key in package.json', tool(''), { ...PACKAGE, bulkhead: { colour: 'red' } },
    /^ShapeInvalid package\.json, line 1: .*colour is not a known key/,
  ],
  ['no package.json', tool(''), undefined, /^ShapeInvalid There is no package\.json beside index\.ts\./],
])('a fault of TypeScript names the file that its author wrote: %s', async (name, source, packageJson, message) => {
  const place = join(folder, name.replaceAll(/\W/g, '-'))
  mkdirSync(place)
  writeFileSync(join(place, 'index.ts'), source)
  if (packageJson) writeFileSync(join(place, 'package.json'), JSON.stringify(packageJson))
  const { code, stderr } = await inside(['pack', place], folder)
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
  expect(stderr).not.toContain('bulkhead.json')
})

/** A small file system of its own, if this process may mount one. */
const shell = (script: string, at: string) => spawnSync('/bin/sh', ['-c', script, 'sh', at]).status === 0
const mount = (at: string) => shell('mount -t tmpfs -o size=16k tmpfs "$1"', at)

it(
  'says that the disk is full',
  runsIf(
    process.getuid?.() === 0 && spawnSync('/bin/sh', ['-c', 'unshare --mount true']).status === 0,
    'may not mount a file system',
  ),
  async () => {
    const [place, disk] = [join(folder, 'whole'), join(folder, 'disk')]
    for (const at of [place, disk]) mkdirSync(at)
    writeFileSync(join(place, 'index.ts'), tool(''))
    writeFileSync(join(place, 'package.json'), JSON.stringify(PACKAGE))
    expect(mount(disk)).toBe(true)
    try {
      writeFileSync(join(disk, 'most'), Buffer.alloc(8 * 1024))
      writeFileSync(join(place, 'README.md'), crypto.getRandomValues(Buffer.alloc(12 * 1024)).toString('base64'))
      const { code, stderr } = await inside(['pack', place, '--out', disk], folder)
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(
          /^InstallFailed ".*" could not be written: ENOSPC: the disk is full\. Free some space, and try again/,
        ),
      ])
    } finally {
      shell('umount "$1"', disk)
    }
  },
)
