import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PUBLIC_GOOD_ROOT } from '@bulkhead/loader'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-unmakeable-')) })
afterEach(() => rmSync(folder, { recursive: true }))

/** No user can create a folder here; on Linux the system answers that it does not exist. */
const NOWHERE = '/proc/bulkhead-nowhere/deep'

it('each command that needs the folder reports the error', async () => {
  expect((await inside(['new', 'greeter', '--template', 'tool'], folder)).code).toBe(0)
  const refused = async (args: readonly string[], message: RegExp) => {
    const { code, stderr } = await inside(args, folder)
    expect({ code, stderr }, args.join(' ')).toEqual({ code: 1, stderr: expect.stringMatching(message) })
  }
  await refused(['new', `${NOWHERE}/x`], /^InstallFailed .*\/proc\/bulkhead-nowhere/)
  await refused(['pack', 'greeter', '--out', NOWHERE], /^InstallFailed .*\/proc\/bulkhead-nowhere/)
  await refused(['install', './greeter', '--yes', '--home', NOWHERE], /InstallFailed .*\/proc\/bulkhead-nowhere/)
  await refused(['trust', '--decline', '--home', NOWHERE], /^TrustStoreUnavailable .*\/proc\/bulkhead-nowhere/)
  writeFileSync(join(folder, 'root.json'), JSON.stringify(PUBLIC_GOOD_ROOT.json))
  await refused(['trust-root', '--refresh', '--home', NOWHERE], /^InstallSourceUnavailable .*\/proc\/bulkhead-nowhere/)
  await refused(['trust-root', '--use', 'root.json', '--home', NOWHERE], /^InstallFailed .*\/proc\/bulkhead-nowhere/)
})

it('fails a call, unless --no-store is given', async () => {
  const call = ['call', 'glob', '--args', '{"pattern":"*"}', '--mode', 'yolo', '--home', NOWHERE]
  const run = (...more: readonly string[]) => inside([...call, ...more], folder, { XDG_CACHE_HOME: NOWHERE })
  expect(await run()).toMatchObject({
    code: 1, stdout: '', stderr: expect.stringMatching(/^StoreUnavailable .*--no-store/s),
  })
  expect(await run('--no-store')).toMatchObject({ code: 0, stderr: '' })
})
