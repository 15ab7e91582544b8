import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WALLS } from '../../../scripts/machine.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'
import { afterWallWarning } from './wall-warning.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-call-folder-'))
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } }, additionalProperties: false } as const
  const manifest = { id: 'echo', tools: [{ name: 'echo', inputSchema }] }
  writeExtension(
    join(folder, 'home/.bulkhead'), manifest, `export default { tools: { echo: { execute: () => 'installed' } } }`,
  )
  writeExtension(join(folder, 'work'), { ...manifest, main: './index.ts' }, '')
  rmSync(join(folder, 'work/tools/echo/index.js'))
  writeFileSync(join(folder, 'work/tools/echo/index.ts'), `
    const read = async (path: string, runtime: any): Promise<string> => runtime.fs.readText(path)
    const execute = ({ path }: { path?: string }, runtime: any) => path ? read(path, runtime) : 'built'
    export default { tools: { echo: { execute } } }`)
})
afterAll(() => rmSync(folder, { recursive: true }))

const call = (...args: string[]) => inside(['call', ...args], folder)

it('runs a tool from its folder in place of the installed one', WALLS, async () => {
  const { stderr, ...rest } = await call('./work/tools/echo', 'echo')
  expect([rest, afterWallWarning(stderr)]).toEqual([{ code: 0, stdout: 'built\n' }, ''])
})

it(
  'gives it nothing that it does not declare, and reads arguments from a file and from standard input', WALLS,
  async () => {
    writeFileSync(join(folder, 'arguments.json'), '{ "path": "arguments.json" }')
    const { code, stderr } = await call('./work/tools/echo', 'echo', '--args', '@arguments.json')
    expect([code, afterWallWarning(stderr)]).toEqual([1, expect.stringMatching(/^CapabilityDenied /)])
    expect(await call('echo', '--args', '@gone.json')).toMatchObject({
      code: 2, stderr: expect.stringMatching(/^--args: "gone\.json" cannot be read: /),
    })
    const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
    Object.defineProperty(process, 'stdin', { value: Readable.from(['{ "other"', ': 1 }']), configurable: true })
    try {
      const invalid = await call('echo', '--args', '-')
      expect([invalid.code, afterWallWarning(invalid.stderr)]).toEqual([
        1, expect.stringMatching(/^InputInvalid .*other/),
      ])
    } finally {
      Object.defineProperty(process, 'stdin', stdin)
    }
  },
)

it('names the tools of the folder, and applies the policy for unsigned packages', async () => {
  expect(await call('./work/tools/echo', 'read')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ToolNotRegistered .* has no tool "read"\. It has echo\./),
  })
  expect(await call('./work')).toMatchObject({
    code: 2, stderr: expect.stringMatching(/^Missing tool name\. Use: bulkhead call \.\/work NAME\./),
  })
  expect(await call('./gone', 'echo')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^InstallSourceInvalid "\.\/gone" is not a folder/),
  })
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  writeFileSync(
    join(folder, 'home/.bulkhead/config.json'), JSON.stringify({ policy: { signature: { project: 'require' } } }),
  )
  expect(await call('./work/tools/echo', 'echo')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^SignatureInvalid .*project layer requires a signature/),
  })
})
