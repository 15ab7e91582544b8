import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PUBLIC_GOOD_ROOT } from '@bulkhead/loader'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loaderOptions } from '../src/facade/loader-options.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-root-')) })
afterEach(() => rmSync(folder, { recursive: true }))
const home = () => join(folder, 'home/.bulkhead')

it('shows the bundled root, accepts another one, and resets it', async () => {
  expect(await inside(['trust-root'], folder)).toMatchObject({
    code: 0, stdout: expect.stringMatching(/^@sigstore\/tuf .* days old\n$/),
  })
  writeFileSync(join(folder, 'own.json'), JSON.stringify(PUBLIC_GOOD_ROOT.json))
  const used = await inside(['trust-root', '--use', 'own.json', '--json'], folder)
  expect(JSON.parse(used.stdout)).toMatchObject({
    source: join(home(), 'trust-root.json'), ageDays: expect.any(Number),
  })
  expect(loaderOptions(home())).toMatchObject({ trustRoot: PUBLIC_GOOD_ROOT.json })
  expect(await inside(['trust-root', '--reset'], folder)).toMatchObject({
    code: 0, stdout: expect.stringContaining('@sigstore/tuf'),
  })
  expect(loaderOptions(home())).not.toHaveProperty('trustRoot')
})

it('refuses an invalid root and an unreachable repository, and writes nothing', async () => {
  writeFileSync(join(folder, 'own.json'), '{}')
  expect(await inside(['trust-root', '--use', 'own.json'], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^SignatureInvalid .* Use a sigstore trusted root as JSON\.\n$/),
  })
  writeFileSync(join(folder, 'root.json'), '{}')
  const refresh = ['trust-root', '--refresh', '--mirror', 'http://127.0.0.1:1', '--tuf-root', 'root.json']
  expect(await inside(refresh, folder)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^InstallSourceInvalid .*root\.json" is not TUF root metadata/),
  })
  writeFileSync(join(folder, 'root.json'), '{"signed":{"_type":"root"}}')
  expect(await inside(refresh, folder)).toMatchObject({
    code: 1, stderr: expect.stringContaining('InstallSourceUnavailable'),
  })
  expect(readdirSync(home())).toEqual(['tuf'])
  expect(readdirSync(join(home(), 'tuf'))).toEqual([])
})

it('a root that cannot be removed is reported', async () => {
  mkdirSync(join(home(), 'trust-root.json'), { recursive: true })
  expect(await inside(['trust-root', '--reset'], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^InstallFailed .*trust-root\.json could not be written: /),
  })
})

it('an unreadable root is not replaced by the bundled one', () => {
  writeFileSync(join(folder, 'trust-root.json'), 'not JSON')
  expect(loaderOptions(folder)).toMatchObject({ trustRoot: null })
  rmSync(join(folder, 'trust-root.json'))
  symlinkSync('no-such-file', join(folder, 'trust-root.json'))
  expect(loaderOptions(folder)).toMatchObject({ trustRoot: null })
})
