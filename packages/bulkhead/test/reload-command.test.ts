import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inside } from './command-inside.ts'
import { useThreads, writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-reload-'))
  useThreads(global())
})
afterEach(() => rmSync(folder, { recursive: true }))

const global = () => join(folder, 'home/.bulkhead')
const WELL = 'export default { init() {}, tools: { well: { execute: () => 1 } } }'
const ILL = 'export default { init() { throw new Error("no licence") }, tools: { ill: { execute: () => 1 } } }'

describe('bulkhead reload', () => {
  it('starts every extension that is not bundled, and reports failures', async () => {
    writeExtension(global(), { id: 'well', version: '1.2.0', tools: [{ name: 'well' }] }, WELL)
    writeExtension(global(), { id: 'ill', tools: [{ name: 'ill' }] }, ILL)
    const { code, stdout } = await inside(['reload'], folder)
    expect(stdout).toMatch(/EXTENSION +VERSION +LAYER +PASSES/)
    expect(stdout).toMatch(/well +1\.2\.0 +global +yes/)
    expect(stdout).toMatch(/ill +1\.0\.0 +global +no: LifecycleFailure/)
    expect(stdout).toContain('no licence')
    expect(stdout).not.toContain('bundled')
    expect(code).toBe(1)
  })

  it('accepts names, and exits with 0 if those start', async () => {
    writeExtension(global(), { id: 'well', tools: [{ name: 'well' }] }, WELL)
    writeExtension(global(), { id: 'ill', tools: [{ name: 'ill' }] }, ILL)
    const { code, stdout } = await inside(['reload', 'well', '--json'], folder)
    const { extensions, diagnostics } = JSON.parse(stdout) as {
      extensions: unknown[]
      diagnostics: { extensionId: string; severity: string }[]
    }
    expect(extensions).toEqual([{ extension: 'well', layer: 'global', stands: true }])
    expect(diagnostics.filter(({ extensionId, severity }) => extensionId !== 'well' || severity === 'error')).toEqual(
      [],
    )
    expect(code).toBe(0)
  })

  it('reports extensions that were disabled earlier, and unknown names', async () => {
    writeExtension(global(), { id: 'broken', tools: [{ name: 'not a name' }] }, '')
    const broken = await inside(['reload', 'broken'], folder)
    expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining('ShapeInvalid (shape) in broken') })
    expect(await inside(['reload', 'nobody'], folder)).toMatchObject({
      code: 1, stderr: expect.stringContaining('ExtensionNotFound'),
    })
    writeExtension(global(), { id: 'well', tools: [{ name: 'well' }] }, WELL)
    expect((await inside(['reload', 'wel'], folder)).stderr).toContain('none was found. Did you mean "well"?\n')
  })
})
